// SPDX-License-Identifier: MIT
// Runs the function `main` of a module in `xnn` on the host: a second opinion on what an importer or a pass made.
#ifndef SIDRA_TESTS_COMPILER_INTERPRET_H
#define SIDRA_TESTS_COMPILER_INTERPRET_H

#include <mlir/IR/BuiltinOps.h>

#include <vector>

#include "evaluate.h"
#include "values/store.h"

namespace sidra::tests {

// Throws std::runtime_error where an operation has no meaning.
std::vector<xnn::Elements> interpret(mlir::ModuleOp module, const compiler::Store& store,
                                     const std::vector<xnn::Elements>& inputs);

}  // namespace sidra::tests

#endif
