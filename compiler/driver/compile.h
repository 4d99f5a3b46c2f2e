// SPDX-License-Identifier: MIT
// From a file with a network to a .sidra file: front end, passes and emission in their order.
#ifndef SIDRA_COMPILER_COMPILE_H
#define SIDRA_COMPILER_COMPILE_H

#include "calibrate.h"

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace sidra::compiler {

struct CompileError : std::runtime_error {
    using runtime_error::runtime_error;
};

// As struct sidra_compile_options; an empty string: none.
struct Options {
    std::map<std::string, int64_t> dimensions;
    std::map<std::string, std::string> values;
    std::string pipeline, dump, reproducer;
    std::function<void(const std::string&)> report;
    Calibration calibration;  // without samples: none
};

// Throws CompileError.
void compile(const std::string& input, const std::string& output, const Options& options);

}  // namespace sidra::compiler

#endif
