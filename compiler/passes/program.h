// SPDX-License-Identifier: MIT
// The vector program of a group (xnn.group).
#ifndef SIDRA_COMPILER_PROGRAM_H
#define SIDRA_COMPILER_PROGRAM_H

#include <optional>
#include <string>
#include <vector>

#include "xnn.h"

namespace sidra::compiler {

// What an operand of a program is bound to.
struct Binding {
    enum Kind { kInput, kResult, kColumnSums };  // kColumnSums: of the codes of the weights of the group's layer
    Kind kind;
    unsigned number = 0;  // of the group's input or result
    bool scalar = false;  // the program accesses one element of each row
};

struct Program {
    std::vector<std::string> lines;
    std::vector<Binding> bindings;  // of the operands, from the first one that does not belong to a product
    bool by_row = false;            // the columns of a row depend on each other
};

// The operation in a group that is a product (linear, conv_layer, matmul); null if there is none.
mlir::Operation* product_of(xnn::GroupOp group);

// Whether an operation is a layer whose input are floats, which its program makes codes, row by row.
bool codes_by_row(mlir::Operation* op);

// The shape over which a group computes: that to which all of its values broadcast, but the factors of its product.
llvm::SmallVector<int64_t> space_of(xnn::GroupOp group);

// The shape of a value, with dimensions of 1 in front if it has fewer than `rank`.
llvm::SmallVector<int64_t> in_rank_of(mlir::Value value, size_t rank);

// Nothing: the group does not fit into one program. *why (if not null) says what is missing.
std::optional<Program> generate(xnn::GroupOp group, std::string* why = nullptr);

}  // namespace sidra::compiler

#endif
