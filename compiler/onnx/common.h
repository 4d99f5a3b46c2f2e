// SPDX-License-Identifier: MIT
// What several kinds of operators share.
#ifndef SIDRA_COMPILER_ONNX_COMMON_H
#define SIDRA_COMPILER_ONNX_COMMON_H

#include <limits>

#include "node.h"

namespace sidra::compiler {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Computes in f32 what is composed of several operations, so that f16 and bf16 are rounded once.
template <typename Function>
Value in_f32(Build& b, Value input, Function function) {
    if (!Build::is_float(input)) refuse("the operator takes floats");
    return b.cast(function(b.cast(input, b.f32())), Build::element_of(input));
}

// 1 / (1 + exp(-x)), ...: a function by ONNX's name, for nodes that have it in an attribute (recurrent.cpp), too.
Value activation(Build& b, std::string_view name, Value x, std::optional<float> alpha, std::optional<float> beta);

// base ** exponent, of the type f32.
Value power(Build& b, Value base, Value exponent);
Value power(Build& b, Value base, double exponent);

// The smallest and the largest number of a type of integers.
std::pair<int64_t, int64_t> range_of(mlir::Type integer);

// Softmax and the like: along the last dimension.
Value softmax(Build& b, Value x);
Value log_softmax(Build& b, Value x);

// The input without what a reduction changes: `axes` merged into one last dimension. `function` takes a value whose
// last dimension they are, and returns one whose last dimension is 1. The result has 1 in each of the axes.
template <typename Function>
Value along(Build& b, Value input, llvm::ArrayRef<int64_t> axes, Function function) {
    const Shape from = Build::shape_of(input);
    std::vector<bool> reduced(from.size());
    for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
    Shape permutation, merged, kept = from;
    int64_t size = 1;
    for (size_t d = 0; d < from.size(); d++)
        if (!reduced[d]) {
            permutation.push_back(static_cast<int64_t>(d));
            merged.push_back(from[d]);
        }
    for (size_t d = 0; d < from.size(); d++)
        if (reduced[d]) {
            permutation.push_back(static_cast<int64_t>(d));
            size *= from[d];
            kept[d] = 1;
        }
    merged.push_back(size);
    return b.reshape(function(b.reshape(b.transpose(input, permutation), merged)), kept);
}

// Applies to the last dimension what belongs to another one, and moves it back.
template <typename Function>
Value on_axis(Build& b, Value input, int64_t axis, Function function) {
    axis = xnn::axis_of(axis, Build::rank_of(input));
    return b.move_axis(function(b.move_axis(input, axis, -1)), -1, axis);
}

// A vector with an element for each index of one axis, in a shape that broadcasts.
Value along_axis(Build& b, Value vector, int64_t axis, int64_t rank);

}  // namespace sidra::compiler

#endif
