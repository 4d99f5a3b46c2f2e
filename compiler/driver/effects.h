// SPDX-License-Identifier: MIT
// What each optimisation does to a network: it is compiled without it, or with more of it, and runs with the samples of
// its calibration.
#ifndef SIDRA_COMPILER_EFFECTS_H
#define SIDRA_COMPILER_EFFECTS_H

#include <string>
#include <vector>

#include "compile.h"
#include "measured.h"

namespace sidra::compiler {

// The first one is of the options themselves. They have samples. Throws CompileError.
std::vector<Effect> effects(const std::string& input, const Options& options);
// A table for people.
std::string text_of(const std::vector<Effect>& effects);

}  // namespace sidra::compiler

#endif
