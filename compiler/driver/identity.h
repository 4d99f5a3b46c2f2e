// SPDX-License-Identifier: MIT
// Which build of the compiler this is.
#ifndef SIDRA_COMPILER_IDENTITY_H
#define SIDRA_COMPILER_IDENTITY_H

#include <optional>
#include <string>

namespace sidra::compiler {

// The version, and the build IDs of this code and of MLIR. nullopt: one of them was linked without a build ID.
std::optional<std::string> identity();

}  // namespace sidra::compiler

#endif
