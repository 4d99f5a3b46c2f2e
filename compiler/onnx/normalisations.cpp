// SPDX-License-Identifier: MIT
// Softmax, and operators that normalise. A later pass finds what belongs to one row, so that it becomes one program.
#include <numeric>

#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Binary;
using xnn::Pooling;
using xnn::Reduction;
using xnn::Unary;

namespace {

int64_t columns_of(Value rows) { return Build::shape_of(rows).back(); }

Value mean(Build& b, Value rows) {
    return b.mul(b.reduce(Reduction::sum, rows), 1 / static_cast<double>(columns_of(rows)));
}

// Rows without their mean, with the variance 1.
Value normalise(Build& b, Value rows, double epsilon) {
    const Value difference = b.sub(rows, mean(b, rows));
    const Value variance = mean(b, b.mul(difference, difference));
    return b.mul(difference, b.unary(Unary::rsqrt, b.add(variance, epsilon)));
}

// ---- Softmax --------------------------------------------------------------------------------------------------------

Value hardmax(Build& b, Value x) {
    const Value first = b.reduce(Reduction::argmax, x);
    Shape shape(Build::shape_of(x).size(), 1);
    shape.back() = columns_of(x);
    return b.cast(b.binary(Binary::eq, b.iota(shape, -1), first), Build::element_of(x));
}

// Before operator set 13, all dimensions from the axis on are one.
template <Value (*function)(Build&, Value)>
Values along_rows(Node& n) {
    Build& b = n.b;
    const auto compute = [&](Value rows) { return in_f32(b, rows, [&](Value wide) { return function(b, wide); }); };
    const Shape shape = Build::shape_of(n[0]);
    const auto rank = static_cast<int64_t>(shape.size());
    if (n.version >= 13) return {on_axis(b, n[0], n.integer("axis", -1), compute)};
    const int64_t axis = n.integer("axis", 1);
    const auto split = shape.begin() + (axis == rank ? rank : axis_of(axis, rank));
    const auto product = [](auto first, auto last) {
        return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
    };
    const Value rows = b.reshape(n[0], {product(shape.begin(), split), product(split, shape.end())});
    return {b.reshape(compute(rows), shape)};
}

// ---- Normalisation --------------------------------------------------------------------------------------------------

Values layer_norm(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    const int64_t axis = axis_of(n.integer("axis", -1), static_cast<int64_t>(shape.size()));
    Shape rows(shape.begin(), shape.begin() + axis);
    Shape ones = rows;
    int64_t columns = 1;
    for (const int64_t size : llvm::ArrayRef(shape).drop_front(static_cast<size_t>(axis))) columns *= size;
    rows.push_back(columns);
    ones.resize(shape.size(), 1);
    n.only("stash_type", 1);
    if (!Build::is_float(n[0])) refuse("the operator takes floats");
    const Value x = b.reshape(b.cast(n[0], b.f32()), rows);
    const Value average = mean(b, x), difference = b.sub(x, average);
    const Value variance = mean(b, b.mul(difference, difference));
    const Value inverse = b.unary(Unary::rsqrt, b.add(variance, n.number("epsilon", 1e-5F)));
    Value y = b.reshape(b.mul(difference, inverse), shape);
    y = b.mul(y, b.cast(n[1], b.f32()));
    if (const Value bias = n.optional(2)) y = b.add(y, b.cast(bias, b.f32()));
    return {b.cast(y, Build::element_of(n[0])), b.reshape(average, ones), b.reshape(inverse, ones)};
}

// The input with the channels last, where they have a scale and a bias, and back.
Value scaled(Node& n, Value x, Value scale, Value bias) {
    Build& b = n.b;
    return on_axis(b, x, 1,
                   [&](Value last) { return b.add(b.mul(last, b.cast(scale, b.f32())), b.cast(bias, b.f32())); });
}

Shape pixels_of(Node& n) {
    const Shape shape = Build::shape_of(n[0]);
    if (shape.size() < 3) refuse("images have at least three dimensions");
    return shape;
}

Values instance_norm(Node& n) {
    const Shape shape = pixels_of(n);
    Shape axes(shape.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return {in_f32(n.b, n[0], [&](Value x) {
        Shape rows = {shape[0], shape[1],
                      Build::type_of(x).getNumElements() / std::max<int64_t>(shape[0] * shape[1], 1)};
        const Value y = n.b.reshape(normalise(n.b, n.b.reshape(x, rows), n.number("epsilon", 1e-5F)), shape);
        return scaled(n, y, n[1], n[2]);
    })};
}

Values group_norm(Node& n) {
    Build& b = n.b;
    const Shape shape = pixels_of(n);
    const int64_t groups = n.integer("num_groups");
    if (groups < 1 || shape[1] % groups != 0) refuse("{} groups do not divide {} channels", groups, shape[1]);
    return {in_f32(b, n[0], [&](Value x) {
        const int64_t columns = Build::type_of(x).getNumElements() / std::max<int64_t>(shape[0] * groups, 1);
        const Value y =
            b.reshape(normalise(b, b.reshape(x, {shape[0], groups, columns}), n.number("epsilon", 1e-5F)), shape);
        // Before operator set 21, scale and bias have an element for each group.
        const auto each = [&](Value vector) {
            if (n.version >= 21 || Build::type_of(vector).getNumElements() != groups) return vector;
            return b.reshape(b.broadcast(b.reshape(vector, {groups, 1}), {groups, shape[1] / groups}), {shape[1]});
        };
        return scaled(n, y, each(n[1]), each(n[2]));
    })};
}

Values batch_norm(Node& n) {
    Build& b = n.b;
    if (n.version < 7 && !n.flag("is_test"))
        refuse("the operator is for training (is_test is 0); export the model in evaluation mode");
    n.only("spatial", 1);
    if (Build::rank_of(n[0]) < 2) refuse("the input has no channels");
    const auto wide = [&](Value vector) { return b.cast(vector, b.f32()); };
    const auto normalised = [&](Value average, Value variance) {
        const Value factor = b.mul(b.unary(Unary::rsqrt, b.add(variance, n.number("epsilon", 1e-5F))), wide(n[1]));
        const Value bias = b.sub(wide(n[2]), b.mul(average, factor));
        return in_f32(b, n[0], [&](Value x) { return scaled(n, x, factor, bias); });
    };
    if (!n.flag("training_mode")) return {normalised(wide(n[3]), wide(n[4]))};
    // With the mean and the variance of each channel, which the running ones approach.
    if (!Build::is_float(n[0])) refuse("the operator takes floats");
    const Value last = b.move_axis(b.cast(n[0], b.f32()), 1, 0);
    const int64_t channels = Build::shape_of(last)[0];
    const int64_t pixels = Build::type_of(last).getNumElements() / std::max<int64_t>(channels, 1);
    const Value rows = b.reshape(last, {channels, pixels});
    const Value average = mean(b, rows), difference = b.sub(rows, average);
    const Value variance = b.reshape(mean(b, b.mul(difference, difference)), {channels});
    const Value flat = b.reshape(average, {channels});
    const double momentum = n.number("momentum", 0.9F);
    const auto running = [&](size_t input, Value now) {
        const Value next = b.add(b.mul(wide(n[input]), momentum), b.mul(now, 1 - momentum));
        return b.cast(next, Build::element_of(n[input]));
    };
    return {normalised(flat, variance), running(3, flat), running(4, variance)};
}

Values lp_norm(Node& n) {
    Build& b = n.b;
    const int64_t p = n.integer("p", 2);
    if (p != 1 && p != 2) refuse("p is {}, and only 1 and 2 are supported", p);
    return {on_axis(b, n[0], n.integer("axis", -1), [&](Value rows) {
        return in_f32(b, rows, [&](Value x) {
            const Value sum = b.reduce(Reduction::sum, p == 1 ? b.unary(Unary::abs, x) : b.mul(x, x));
            return b.div(x, p == 1 ? sum : b.unary(Unary::sqrt, sum));
        });
    })};
}

Values mean_variance_norm(Node& n) {
    Build& b = n.b;
    Shape axes = n.has("axes") ? n.integers("axes") : Shape{0, 2, 3};
    for (int64_t& axis : axes) axis = axis_of(axis, Build::rank_of(n[0]));
    return {in_f32(b, n[0], [&](Value x) {
        const auto average = [&](Value value) {
            return along(b, value, axes, [&](Value rows) { return mean(b, rows); });
        };
        const Value difference = b.sub(x, average(x));
        const Value deviation = b.unary(Unary::sqrt, average(b.mul(difference, difference)));
        return b.div(difference, b.add(deviation, 1e-9));
    })};
}

// The mean of the squares in neighbouring channels is that of windows of an image that is one channel wide.
Values local_response_norm(Node& n) {
    Build& b = n.b;
    const Shape shape = pixels_of(n);
    const int64_t size = n.integer("size"), rank = static_cast<int64_t>(shape.size());
    if (size < 1 || size > INT16_MAX) refuse("the size is {}", size);
    return {in_f32(b, n[0], [&](Value x) {
        const Value last = b.move_axis(x, 1, -1);
        const Shape moved = Build::shape_of(last);
        const int64_t channels = moved.back(),
                      rows = Build::type_of(last).getNumElements() / std::max<int64_t>(channels, 1);
        const Value squares = b.reshape(b.mul(last, last), {rows, 1, channels, 1});
        const Value means =
            b.pool(Pooling::average_all, squares,
                   b.windows({1, size}, {1, 1}, {0, (size - 1) / 2}, {0, size - 1 - (size - 1) / 2}, {1, 1}));
        const Value base = b.add(b.mul(b.reshape(means, moved), n.number("alpha", 1e-4F)), n.number("bias", 1));
        // The base is positive, which power() need not look at.
        const Value factor = b.unary(Unary::exp, b.mul(b.unary(Unary::log, base), -n.number("beta", 0.75F)));
        return b.move_axis(b.mul(last, factor), rank - 1, 1);
    })};
}

constexpr Operator kOperators[] = {
    {"BatchNormalization", 1, 21, batch_norm},
    {"GroupNormalization", 18, 21, group_norm},
    {"Hardmax", 1, 21, along_rows<hardmax>},
    {"InstanceNormalization", 6, 21, instance_norm},
    {"LRN", 1, 21, local_response_norm},
    {"LayerNormalization", 17, 21, layer_norm},
    {"LogSoftmax", 1, 21, along_rows<log_softmax>},
    {"LpNormalization", 1, 21, lp_norm},
    {"MeanVarianceNormalization", 9, 21, mean_variance_norm},
    {"Softmax", 1, 21, along_rows<softmax>},
};

}  // namespace

std::span<const Operator> normalisation_operators() { return kOperators; }

Value log_softmax(Build& b, Value x) {
    const Value difference = b.sub(x, b.reduce(Reduction::max, x));
    return b.sub(difference, b.unary(Unary::log, b.reduce(Reduction::sum, b.unary(Unary::exp, difference))));
}

Value softmax(Build& b, Value x) {
    const Value e = b.unary(Unary::exp, b.sub(x, b.reduce(Reduction::max, x)));
    return b.div(e, b.reduce(Reduction::sum, e));
}

}  // namespace sidra::compiler
