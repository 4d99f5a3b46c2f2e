// SPDX-License-Identifier: MIT
// What follows a layer by column, such as a batch normalisation: it is folded into the layer's factors and one term.
#ifndef SIDRA_COMPILER_COLUMNS_H
#define SIDRA_COMPILER_COLUMNS_H

#include <mlir/IR/PatternMatch.h>

#include <optional>
#include <vector>

#include "store.h"
#include "xnn.h"

namespace sidra::compiler {

// Whether a value is the result of a layer, and nothing else needs it than one operation.
bool is_layer(mlir::Value value);

// All layers of a function or module, in their order.
std::vector<mlir::Operation*> layers_in(mlir::Operation* op);

// The values of an f32 constant that has one for each column of `type`, or one for all.
std::optional<std::vector<float>> by_column(mlir::Value value, mlir::RankedTensorType type, const Store& store);

// A constant of f32 with these values, one for each column.
mlir::Value columns_constant(mlir::OpBuilder& builder, mlir::Location location, Store& store,
                             const std::vector<float>& values);

// The patterns that fold products and sums behind layers.
void add_column_patterns(mlir::RewritePatternSet& patterns, Store& store);

}  // namespace sidra::compiler

#endif
