// SPDX-License-Identifier: MIT
// Operators on integers with a scale and a zero point. Their sums are exact, in int32.
#include "common.h"
#include "windows.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Binary;
using xnn::Reduction;
using xnn::Unary;

namespace {

bool is_byte(Value value) { return Build::element_of(value).isInteger(8); }

// One number, or one for each index of an axis.
Value spread(Build& b, Value parameter, int64_t axis, int64_t rank) {
    const int64_t rank_of_it = Build::rank_of(parameter);
    if (Build::type_of(parameter).getNumElements() == 1) return b.reshape(parameter, {});
    if (rank_of_it != 1) refuse("scales and zero points must be a number, or a vector along an axis");
    return along_axis(b, parameter, axis, rank);
}

// f32 numbers that are already divided by the scale, as integers. `zero` may be null.
Value to_integers(Build& b, Value scaled, Value zero, mlir::Type type) {
    Value rounded = b.unary(Unary::round, scaled);
    if (zero) rounded = b.add(rounded, b.cast(zero, b.f32()));
    return b.cast(rounded, type, /*nearest=*/true);
}

Values quantize(Node& n) {
    Build& b = n.b;
    n.only("block_size", 0);
    const int64_t rank = Build::rank_of(n[0]);
    const int64_t axis = n.integer("axis", 1);
    const mlir::Type type = n.optional(2)                       ? Build::element_of(n[2])
                            : n.integer("output_dtype", 0) != 0 ? n.type("output_dtype", 0)
                                                                : mlir::Type(b.builder().getIntegerType(8, false));
    if (!type.isInteger(8) && !type.isInteger(16)) refuse("the result must be of 8 or 16 bits");
    const Value scale = b.cast(spread(b, n[1], axis, rank), b.f32());
    const Value zero = n.optional(2) ? spread(b, n[2], axis, rank) : Value();
    return {to_integers(b, b.div(b.cast(n[0], b.f32()), scale), zero, type)};
}

Values dequantize(Node& n) {
    Build& b = n.b;
    n.only("block_size", 0);
    const int64_t rank = Build::rank_of(n[0]), axis = n.integer("axis", 1);
    if (Build::is_float(n[0])) refuse("the input must be integers");
    Value x = b.cast(n[0], b.f32());
    if (n.optional(2)) x = b.sub(x, b.cast(spread(b, n[2], axis, rank), b.f32()));
    return {b.cast(b.mul(x, b.cast(spread(b, n[1], axis, rank), b.f32())), Build::element_of(n[1]))};
}

Values dynamic_quantize(Node& n) {
    Build& b = n.b;
    if (!Build::element_of(n[0]).isF32()) refuse("the input must be of type float32");
    const Value flat = b.reshape(n[0], {Build::type_of(n[0]).getNumElements()});
    const Value low = b.min(b.reduce(Reduction::min, flat), 0), high = b.max(b.reduce(Reduction::max, flat), 0);
    const Value scale = b.reshape(b.div(b.sub(high, low), 255), {});
    const mlir::Type type = b.builder().getIntegerType(8, false);
    const Value quotient = b.div(b.unary(Unary::neg, b.reshape(low, {})), scale);
    const Value zero = b.cast(b.unary(Unary::round, b.min(b.max(quotient, 0), 255)), type, /*nearest=*/true);
    return {to_integers(b, b.div(n[0], scale), zero, type), scale, zero};
}

// ---- Products -------------------------------------------------------------------------------------------------------

bool is_zero(Node& n, Value zero) {
    if (!zero) return true;
    const std::optional<double> number = n.splat(zero);
    return number && *number == 0;
}

// A zero point of the rows on the left (column of numbers), or of the columns on the right.
Value zero_of(Build& b, Value zero, bool left) {
    const Shape shape = Build::shape_of(zero);
    const Value wide = b.cast(zero, b.integer(32));
    if (Build::type_of(zero).getNumElements() == 1) return b.reshape(wide, {1, 1});
    if (shape.size() == 1) return b.reshape(wide, left ? Shape{shape[0], 1} : Shape{1, shape[0]});
    return wide;
}

// (lhs - zeros of lhs) * (rhs - zeros of rhs) = lhs * rhs - zeros * columns of rhs - rows of lhs * zeros + k * zeros *
// zeros
Value product(Node& n, Value lhs, Value rhs, Value left_zero, Value right_zero) {
    Build& b = n.b;
    if (!is_byte(lhs) || !is_byte(rhs)) refuse("the factors must be of type int8 or uint8");
    Value sum = b.matmul(lhs, rhs);
    const int64_t k = Build::shape_of(lhs).back();
    const bool left = !is_zero(n, left_zero), right = !is_zero(n, right_zero);
    const Value a = left ? zero_of(b, left_zero, true) : Value(), c = right ? zero_of(b, right_zero, false) : Value();
    if (left) sum = b.sub(sum, b.mul(b.matmul(b.splat(1, b.integer(8), {1, k}), rhs), a));
    if (right) sum = b.sub(sum, b.mul(b.matmul(lhs, b.splat(1, b.integer(8), {k, 1})), c));
    if (left && right) sum = b.add(sum, b.mul(b.mul(a, c), static_cast<double>(k)));
    return sum;
}

Values matmul_integer(Node& n) { return {product(n, n[0], n[1], n.optional(2), n.optional(3))}; }

// A scale of a factor, like its zero point.
Value scale_of(Build& b, Value scale, bool left) {
    const Shape shape = Build::shape_of(scale);
    const Value wide = b.cast(scale, b.f32());
    if (Build::type_of(scale).getNumElements() == 1) return b.reshape(wide, {});
    if (shape.size() == 1) return b.reshape(wide, left ? Shape{shape[0], 1} : Shape{1, shape[0]});
    return wide;
}

Values qlinear_matmul(Node& n) {
    Build& b = n.b;
    const Value sum = b.cast(product(n, n[0], n[3], n[2], n[5]), b.f32());
    const Value scale = b.div(b.mul(scale_of(b, n[1], true), scale_of(b, n[4], false)), scale_of(b, n[6], false));
    const Value zero = Build::type_of(n[7]).getNumElements() == 1 ? b.reshape(n[7], {}) : n[7];
    return {to_integers(b, b.mul(sum, scale), zero, Build::element_of(n[7]))};
}

// ---- Convolutions ---------------------------------------------------------------------------------------------------

// Integers and their zero point as int8: those of uint8 minus 128.
struct Codes {
    Value codes;
    // An int32, or a vector of them.
    Value zero;
};

Codes signed_codes(Build& b, Value x, Value zero) {
    if (!is_byte(x)) refuse("images and filters must be of type int8 or uint8");
    const bool shifted = Build::element_of(x).isUnsignedInteger();
    Codes result{x, zero ? b.cast(zero, b.integer(32)) : b.splat(0, b.integer(32))};
    if (Build::type_of(result.zero).getNumElements() == 1) result.zero = b.reshape(result.zero, {});
    if (!shifted) return result;
    result.codes = b.cast(b.sub(b.cast(x, b.integer(32)), 128), b.integer(8));
    result.zero = b.sub(result.zero, 128);
    return result;
}

// Images with the padding of their windows: outside are zeros, which are the zero point's code.
Value padded(Node& n, const Codes& x, const Windows& windows) {
    Build& b = n.b;
    Shape before = {0}, after = {0};
    llvm::append_range(before, windows.before);
    llvm::append_range(after, windows.after);
    before.push_back(0);
    after.push_back(0);
    if (const std::optional<double> zero = n.splat(x.zero)) return b.pad(x.codes, before, after, *zero);
    const Value inside = b.pad(b.splat(1, b.integer(8), Build::shape_of(x.codes)), before, after);
    return b.select(b.binary(Binary::ne, inside, 0), b.pad(x.codes, before, after), b.cast(x.zero, b.integer(8)));
}

// The sums of a convolution of integers, as images.
Value convolution(Node& n, Value input, Value weights, Value input_zero, Value weight_zero) {
    Build& b = n.b;
    const int64_t groups = n.integer("group", 1);
    const Codes x = signed_codes(b, images_of(b, input), input_zero),
                w = signed_codes(b, filters_of(b, weights, input), weight_zero);
    const Shape sizes = Build::shape_of(w.codes);
    const int64_t filters = sizes.back(), k = Build::type_of(w.codes).getNumElements() / std::max<int64_t>(filters, 1);
    if (groups < 1 || filters % groups != 0) refuse("{} groups do not divide {} filters", groups, filters);
    if (Build::rank_of(x.zero) != 0) refuse("the zero point of the images must be one number");
    Windows windows = windows_of(n, Build::shape_of(x.codes), llvm::ArrayRef(sizes).drop_back(2));
    const Value images = padded(n, x, windows);
    windows.before.assign(windows.before.size(), 0);
    windows.after = windows.before;
    Value sum = convolve(b, images, w.codes, windows, groups);
    const bool left = !is_zero(n, x.zero), right = !is_zero(n, w.zero);
    if (left) {
        // The sum of each filter.
        const Value columns = b.matmul(b.splat(1, b.integer(8), {1, k}), b.reshape(w.codes, {k, filters}));
        sum = b.sub(sum, b.mul(b.reshape(columns, {filters}), x.zero));
    }
    if (right) {
        // The sum of each window, for each filter of a group.
        Shape one_each = sizes;
        one_each.back() = groups;
        Value rows = convolve(b, images, b.splat(1, b.integer(8), one_each), windows, groups);
        Shape shape = Build::shape_of(rows), wide = shape;
        shape.push_back(1);
        wide.push_back(filters / groups);
        rows = b.reshape(b.broadcast(b.reshape(rows, shape), wide), Build::shape_of(sum));
        sum = b.sub(sum, b.mul(rows, w.zero));
    }
    if (left && right) sum = b.add(sum, b.mul(b.mul(w.zero, x.zero), static_cast<double>(k)));
    return sum;
}

Values conv_integer(Node& n) {
    const Value sum = convolution(n, n[0], n[1], n.optional(2), n.optional(3));
    return {from_images(n.b, sum)};
}

Values qlinear_conv(Node& n) {
    Build& b = n.b;
    Value sum = convolution(n, n[0], n[3], n[2], n[5]);
    if (const Value bias = n.optional(8)) sum = b.add(sum, bias);
    // The scale of the filters may be a vector: of the last dimension, as they are images.
    const auto number = [&](Value value) {
        return Build::type_of(value).getNumElements() == 1 ? b.reshape(value, {}) : value;
    };
    const Value scale = b.div(b.mul(number(n[1]), number(n[4])), number(n[6]));
    const Value result = to_integers(b, b.mul(b.cast(sum, b.f32()), scale), number(n[7]), Build::element_of(n[7]));
    return {from_images(b, result)};
}

constexpr Operator kOperators[] = {
    {"ConvInteger", 10, 21, conv_integer},
    {"DequantizeLinear", 10, 21, dequantize},
    {"DynamicQuantizeLinear", 11, 21, dynamic_quantize},
    {"MatMulInteger", 10, 21, matmul_integer},
    {"QLinearConv", 10, 21, qlinear_conv},
    {"QLinearMatMul", 10, 21, qlinear_matmul},
    {"QuantizeLinear", 10, 21, quantize},
};

}  // namespace

std::span<const Operator> quantised_operators() { return kOperators; }

}  // namespace sidra::compiler
