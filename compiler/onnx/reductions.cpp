// SPDX-License-Identifier: MIT
// Operators that combine the elements along dimensions.
#include <numeric>

#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Binary;
using xnn::Reduction;
using xnn::Unary;

namespace {

int64_t columns_of(Value rows) { return Build::shape_of(rows).back(); }

// The result without dimensions of size 1 where the input has these axes.
Value without(Build& b, Value value, const Shape& axes) {
    Shape shape;
    const Shape from = Build::shape_of(value);
    for (size_t d = 0; d < from.size(); d++)
        if (!llvm::is_contained(axes, static_cast<int64_t>(d))) shape.push_back(from[d]);
    return b.reshape(value, shape);
}

// A reduction, whose axes are an input from operator set `since` on. `function` reduces the last dimension.
template <typename Function>
Values reduce(Node& n, int since, Function function) {
    const int64_t rank = Build::rank_of(n[0]);
    Shape axes = n.attribute_or_input("axes", 1, since).value_or(Shape());
    if (axes.empty()) {
        if (n.flag("noop_with_empty_axes")) return {n[0]};
        axes.resize(static_cast<size_t>(rank));
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (int64_t& axis : axes) axis = axis_of(axis, rank);
    const Value result = along(n.b, n[0], axes, function);
    return {n.flag("keepdims", true) ? result : without(n.b, result, axes)};
}

Value sum(Build& b, Value rows) { return b.reduce(Reduction::sum, rows); }

Value mean(Build& b, Value rows) {
    const auto count = static_cast<double>(columns_of(rows));
    return Build::is_float(rows) ? b.mul(sum(b, rows), 1 / count) : b.div(sum(b, rows), count);
}

// Bools have an order, too.
template <Reduction function>
Value extreme(Build& b, Value rows) {
    if (!Build::element_of(rows).isInteger(1)) return b.reduce(function, rows);
    return b.cast(b.reduce(function, b.cast(rows, b.integer(32))), b.integer(1));
}

Value sum_of_squares(Build& b, Value rows) { return sum(b, b.mul(rows, rows)); }

Value sum_of_sizes(Build& b, Value rows) { return sum(b, b.unary(Unary::abs, rows)); }

Value norm(Build& b, Value rows) { return b.unary(Unary::sqrt, sum_of_squares(b, rows)); }

Value log_of_sum(Build& b, Value rows) { return b.unary(Unary::log, sum(b, rows)); }

Value log_of_sum_of_exp(Build& b, Value rows) {
    // Less the largest, so that no term overflows; but infinity less itself is no number.
    const Value largest = b.reduce(Reduction::max, rows);
    const Value is_infinite = b.binary(Binary::eq, b.unary(Unary::abs, largest), kInfinity);
    const Value shift = b.select(is_infinite, b.number(0, largest), largest);
    return b.add(b.unary(Unary::log, sum(b, b.unary(Unary::exp, b.sub(rows, shift)))), shift);
}

// Multiplies the halves of the rows, then the halves of what remains.
Value product(Build& b, Value rows) {
    if (columns_of(rows) == 0) refuse("the product of no elements is not supported");
    while (columns_of(rows) > 1) {
        const int64_t half = columns_of(rows) / 2;
        const Value both = b.mul(b.narrow(rows, -1, 0, half), b.narrow(rows, -1, half, half));
        rows = columns_of(rows) % 2 == 0 ? both : b.concat({both, b.narrow(rows, -1, 2 * half, 1)}, -1);
    }
    return rows;
}

template <Value (*function)(Build&, Value), int since = 18>
Values reduction(Node& n) {
    return reduce(n, since, [&](Value rows) { return function(n.b, rows); });
}

// What is composed.
template <Value (*function)(Build&, Value)>
Values float_reduction(Node& n) {
    return reduce(n, 18,
                  [&](Value rows) { return in_f32(n.b, rows, [&](Value wide) { return function(n.b, wide); }); });
}

template <Reduction function>
Values place(Node& n) {
    Build& b = n.b;
    const int64_t axis = axis_of(n.integer("axis", 0), Build::rank_of(n[0]));
    const Value result = on_axis(b, n[0], axis, [&](Value rows) {
        const int64_t columns = columns_of(rows);
        if (!n.flag("select_last_index")) return b.cast(b.reduce(function, rows), b.integer(64));
        // The first one from behind.
        const Value from_end = b.cast(b.reduce(function, b.flip(rows, -1)), b.integer(64));
        return b.sub(b.splat(static_cast<double>(columns - 1), b.integer(64)), from_end);
    });
    return {n.flag("keepdims", true) ? result : without(b, result, {axis})};
}

constexpr Operator kOperators[] = {
    {"ArgMax", 1, 21, place<Reduction::argmax>},
    {"ArgMin", 1, 21, place<Reduction::argmin>},
    {"ReduceL1", 1, 21, reduction<sum_of_sizes>},
    {"ReduceL2", 1, 21, float_reduction<norm>},
    {"ReduceLogSum", 1, 21, float_reduction<log_of_sum>},
    {"ReduceLogSumExp", 1, 21, float_reduction<log_of_sum_of_exp>},
    {"ReduceMax", 1, 21, reduction<extreme<Reduction::max>>},
    {"ReduceMean", 1, 21, reduction<mean>},
    {"ReduceMin", 1, 21, reduction<extreme<Reduction::min>>},
    {"ReduceProd", 1, 21, reduction<product>},
    {"ReduceSum", 1, 21, reduction<sum, 13>},
    {"ReduceSumSquare", 1, 21, reduction<sum_of_squares>},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kOperators; }

}  // namespace sidra::compiler
