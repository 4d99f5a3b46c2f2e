// SPDX-License-Identifier: MIT
// Operators that move elements, or know their places before the network runs.
#include <algorithm>
#include <numeric>

#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Binary;
using xnn::Elements;

namespace {

// ---- The same elements in another shape
// -------------------------------------------------------------------------------

Values reshape(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    std::optional<Shape> wanted = n.attribute_or_input("shape", 1, 5);
    if (!wanted) refuse("the new shape is missing");
    int64_t known = 1, rest = -1;
    for (size_t d = 0; d < wanted->size(); d++) {
        int64_t& size = (*wanted)[d];
        if (size == 0 && !n.flag("allowzero")) {
            if (d >= from.size()) refuse("the new shape keeps dimension {}, which the input does not have", d);
            size = from[d];
        }
        if (size == -1 && rest < 0) rest = static_cast<int64_t>(d);
        else if (size < 0) refuse("the new shape is {}", xnn::text_of(*wanted));
        else if (__builtin_mul_overflow(known, size, &known)) refuse("the new shape is {}", xnn::text_of(*wanted));
    }
    if (rest >= 0) {
        const int64_t elements = Build::type_of(n[0]).getNumElements();
        if (known == 0 || elements % known != 0) refuse("{} elements do not fill rows of {}", elements, known);
        (*wanted)[static_cast<size_t>(rest)] = elements / known;
    }
    return {n.b.reshape(n[0], *wanted)};
}

Values flatten(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const auto rank = static_cast<int64_t>(from.size());
    const int64_t axis = n.integer("axis", 1);
    const int64_t split = axis == rank ? rank : axis_of(axis, rank);
    const auto product = [](auto first, auto last) {
        return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
    };
    return {
        n.b.reshape(n[0], {product(from.begin(), from.begin() + split), product(from.begin() + split, from.end())})};
}

// Axes of a tensor, each once.
std::vector<bool> chosen(const Shape& axes, int64_t rank) {
    std::vector<bool> result(static_cast<size_t>(rank));
    for (const int64_t axis : axes) {
        const auto d = static_cast<size_t>(axis_of(axis, rank));
        if (result[d]) refuse("axis {} is there twice", axis);
        result[d] = true;
    }
    return result;
}

Values squeeze(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const std::optional<Shape> axes = n.attribute_or_input("axes", 1, 13);
    const std::vector<bool> gone = chosen(axes.value_or(Shape()), static_cast<int64_t>(from.size()));
    Shape shape;
    for (size_t d = 0; d < from.size(); d++) {
        if (axes ? !gone[d] : from[d] != 1) shape.push_back(from[d]);
        else if (from[d] != 1) refuse("axis {} has {} elements", d, from[d]);
    }
    return {n.b.reshape(n[0], shape)};
}

Values unsqueeze(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const std::optional<Shape> axes = n.attribute_or_input("axes", 1, 13);
    if (!axes) refuse("the axes are missing");
    if (static_cast<int64_t>(axes->size()) > xnn::kRankMax) refuse("there are {} axes", axes->size());
    const std::vector<bool> added = chosen(*axes, static_cast<int64_t>(from.size() + axes->size()));
    Shape shape;
    const auto* next = from.begin();
    for (const bool is_new : added) shape.push_back(is_new ? 1 : *next++);
    return {n.b.reshape(n[0], shape)};
}

Values transpose(Node& n) {
    Shape permutation = n.integers("perm");
    if (!n.has("perm"))
        for (int64_t d = Build::rank_of(n[0]); d-- > 0;) permutation.push_back(d);
    return {n.b.transpose(n[0], permutation)};
}

constexpr Operator kOperators[] = {
    {"Flatten", 1, 21, flatten},     {"Reshape", 1, 21, reshape},     {"Squeeze", 1, 21, squeeze},
    {"Transpose", 1, 21, transpose}, {"Unsqueeze", 1, 21, unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kOperators; }

}  // namespace sidra::compiler
