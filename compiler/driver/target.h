// SPDX-License-Identifier: MIT
// Compiles again, with more effort each time, until a network is as accurate as wanted.
#ifndef SIDRA_COMPILER_TARGET_H
#define SIDRA_COMPILER_TARGET_H

#include <string>

#include "compile.h"

namespace sidra::compiler {

// Throws CompileError if no effort suffices. options.target says what is wanted.
void compile_for_target(const std::string& input, const std::string& output, const Options& options);

}  // namespace sidra::compiler

#endif
