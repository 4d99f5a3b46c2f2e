// SPDX-License-Identifier: MIT
// What each optimisation does to a network: it is compiled without it, or with more of it, and runs with the samples of
// its calibration.
#ifndef SIDRA_COMPILER_EFFECTS_H
#define SIDRA_COMPILER_EFFECTS_H

#include <string>

#include "compile.h"

namespace sidra::compiler {

// A table for people. The options have samples. Throws CompileError.
std::string effects(const std::string& input, const Options& options);

}  // namespace sidra::compiler

#endif
