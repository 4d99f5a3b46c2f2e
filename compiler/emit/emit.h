// SPDX-License-Identifier: MIT
// Writes a .sidra file (docs/sidra-format.md).
#ifndef SIDRA_COMPILER_EMIT_H
#define SIDRA_COMPILER_EMIT_H

#include <mlir/IR/BuiltinOps.h>

#include <stdexcept>
#include <string>

#include "store.h"

namespace sidra::compiler {

struct EmitError : std::runtime_error {
    using runtime_error::runtime_error;
};

struct Provenance {
    std::string name, source, options;
};

// Each function of the module becomes a variant, of the stage in its attribute xbar.stage if it has one. All of it is
// planned (xbar-plan). The file appears complete or not at all. Throws EmitError, and FileError (part_file.h).
void emit(mlir::ModuleOp module, const Store& store, const Provenance& provenance, const std::string& path);

}  // namespace sidra::compiler

#endif
