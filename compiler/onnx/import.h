// SPDX-License-Identifier: MIT
// Reads ONNX models: operator sets 1 to 21, as far as the table of operators (operators.h) knows them.
#ifndef SIDRA_COMPILER_ONNX_IMPORT_H
#define SIDRA_COMPILER_ONNX_IMPORT_H

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "values/store.h"

namespace sidra::compiler {

// Why a file cannot be imported, in one sentence: the file, the node, the reason, and what to do where there is
// something.
class ImportError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

struct ImportOptions {
    // Sizes of the symbolic dimensions, by name; "x[0]" names dimension 0 of the input x. With several sizes, there is
    // a function for each combination.
    std::map<std::string, std::vector<int64_t>> dimensions;
    // Inputs that are constants, by name: files with a tensor in ONNX's format.
    std::map<std::string, std::string> values;
};

// Most functions of a module: one for each combination of sizes, in the order of the dimensions' names; the sizes of
// the last one change first.
inline constexpr size_t kVariantsMax = 64;

// A module with a function `main`, and `main_1`, `main_2`, ... for other combinations of sizes. Their arguments and
// results have the names of the graph's in `xnn.name`. Constants of 1,024 bytes or more go to the store. All shapes are
// static. The context must have the dialects `func` and `xnn`. Throws ImportError.
mlir::OwningOpRef<mlir::ModuleOp> import_onnx(mlir::MLIRContext& context, Store& store, const std::string& path,
                                              const ImportOptions& options = {});

// A line for each operator: its name, and the operator sets with whose meaning it can be imported.
std::string supported_operators();

}  // namespace sidra::compiler

#endif
