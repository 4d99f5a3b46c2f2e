// SPDX-License-Identifier: MIT
// The names of the network's nodes, which the operations have as their locations.
#ifndef SIDRA_COMPILER_NAMES_H
#define SIDRA_COMPILER_NAMES_H

#include <mlir/IR/Location.h>

#include <string>
#include <vector>

namespace sidra::compiler {

// Of all nodes that became an operation, each once; none if the location has no names.
std::vector<std::string> names_of(mlir::Location location);

}  // namespace sidra::compiler

#endif
