// SPDX-License-Identifier: MIT
// Operators that compute each element by itself.
#include <cmath>
#include <limits>

#include "common.h"
#include "shapes.h"
#include "xnn.h"

namespace sidra::compiler {

using xnn::Binary;
using xnn::Reduction;
using xnn::Unary;

namespace {

// x * (c[0] + c[1] * x^2 + c[2] * x^4 + ...)
Value odd_polynomial(Build& b, Value x, std::initializer_list<double> coefficients) {
    const Value square = b.mul(x, x);
    Value sum;
    for (const double c : llvm::reverse(llvm::ArrayRef(coefficients))) {
        if (sum) sum = b.add(b.mul(sum, square), c);
        else sum = b.number(c, x);
    }
    return b.mul(x, sum);
}

// `large`, but where |x| is less than `limit`, where `large` cancels, the polynomial.
Value near_zero(Build& b, Value x, double limit, std::initializer_list<double> coefficients, Value large) {
    return b.select(b.binary(Binary::lt, b.unary(Unary::abs, x), limit), odd_polynomial(b, x, coefficients), large);
}

// `magnitude` with the sign of x.
Value with_sign(Build& b, Value magnitude, Value x) {
    return b.select(b.binary(Binary::lt, x, 0), b.unary(Unary::neg, magnitude), magnitude);
}

// exp(x) / 2, which overflows only where that does: as a product of roots.
Value half_of_exp(Build& b, Value x) {
    const Value root = b.unary(Unary::exp, b.mul(x, 0.5));
    return b.mul(b.mul(root, 0.5), root);
}

Value sinh(Build& b, Value x) {
    const Value large = b.sub(half_of_exp(b, x), half_of_exp(b, b.unary(Unary::neg, x)));
    return near_zero(b, x, 0.5, {1, 1.0 / 6, 1.0 / 120, 1.0 / 5040}, large);
}

Value cosh(Build& b, Value x) { return b.add(half_of_exp(b, x), half_of_exp(b, b.unary(Unary::neg, x))); }

// log(x + sqrt(x^2 + term)), for a term that is 1 or -1: of large numbers log(2 * x), because squares overflow.
Value log_with_root(Build& b, Value x, double term) {
    const Value is_large = b.binary(Binary::lt, b.number(1e9, x), x);
    const Value sum = b.add(x, b.unary(Unary::sqrt, b.add(b.mul(x, x), term)));
    const Value rest = b.select(is_large, b.number(M_LN2, x), b.number(0, x));
    return b.add(b.unary(Unary::log, b.select(is_large, x, sum)), rest);
}

Value asinh(Build& b, Value x) {
    const Value large = with_sign(b, log_with_root(b, b.unary(Unary::abs, x), 1), x);
    return near_zero(b, x, 0.25, {1, -1.0 / 6, 3.0 / 40, -15.0 / 336}, large);
}

Value acosh(Build& b, Value x) { return log_with_root(b, x, -1); }

Value atanh(Build& b, Value x) {
    const Value one = b.number(1, x);
    const Value large = b.mul(b.unary(Unary::log, b.div(b.add(one, x), b.sub(one, x))), 0.5);
    return near_zero(b, x, 0.25, {1, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9}, large);
}

// The polynomial is that of Cephes' atanf(), for |x| < tan(pi / 8).
Value atan(Build& b, Value x) {
    const Value size = b.unary(Unary::abs, x), one = b.number(1, x);
    const Value is_large = b.binary(Binary::lt, one, size);
    const Value below_one = b.select(is_large, b.div(one, size), size);
    const Value is_middle = b.binary(Binary::lt, b.number(std::sqrt(2.0) - 1, x), below_one);
    const Value argument = b.select(is_middle, b.div(b.sub(below_one, one), b.add(below_one, one)), below_one);
    const Value small =
        odd_polynomial(b, argument, {1, -3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1, 8.05374449538e-2});
    const Value angle = b.add(small, b.select(is_middle, b.number(M_PI_4, x), b.number(0, x)));
    return with_sign(b, b.select(is_large, b.sub(b.number(M_PI_2, x), angle), angle), x);
}

Value asin(Build& b, Value x) {
    const Value root = b.unary(Unary::sqrt, b.sub(b.number(1, x), b.mul(x, x)));
    return b.mul(atan(b, b.div(x, b.add(root, 1))), 2);
}

Value acos(Build& b, Value x) {
    const Value one = b.number(1, x);
    return b.mul(atan(b, b.unary(Unary::sqrt, b.div(b.sub(one, x), b.add(one, x)))), 2);
}

Value tan(Build& b, Value x) { return b.div(b.unary(Unary::sin, x), b.unary(Unary::cos, x)); }

// log(1 + exp(x)), which does not overflow.
Value softplus(Build& b, Value x) {
    const Value small = b.unary(Unary::exp, b.unary(Unary::neg, b.unary(Unary::abs, x)));
    return b.add(b.max(x, 0), b.unary(Unary::log, b.add(small, 1)));
}

Value relu(Build& b, Value x) { return b.max(x, 0); }

Value softsign(Build& b, Value x) { return b.div(x, b.add(b.unary(Unary::abs, x), 1)); }

Value mish(Build& b, Value x) { return b.mul(x, b.unary(Unary::tanh, softplus(b, x))); }

Value hard_sigmoid(Build& b, Value x, double alpha, double beta) {
    return b.min(b.max(b.add(b.mul(x, alpha), beta), 0), 1);
}

// x where it is positive, else scale * (exp(x / width) - 1), which cannot overflow.
Value exponential_unit(Build& b, Value x, double scale, double width) {
    const Value below = b.mul(b.sub(b.unary(Unary::exp, b.div(b.min(x, 0), width)), 1), scale);
    return b.select(b.binary(Binary::lt, x, 0), below, x);
}

Value leaky(Build& b, Value x, Value slope) { return b.select(b.binary(Binary::lt, x, 0), b.mul(x, slope), x); }

Value thresholded(Build& b, Value x, double threshold) {
    return b.select(b.binary(Binary::lt, b.number(threshold, x), x), x, b.number(0, x));
}

// A function that the dialect has.
template <Unary function>
Values unary(Node& n) {
    return {n.b.unary(function, n[0])};
}

// One that it has for floats only.
template <Unary function>
Values float_unary(Node& n) {
    if (!Build::is_float(n[0])) refuse("the operator takes floats");
    return unary<function>(n);
}

template <Value (*function)(Build&, Value)>
Values composed(Node& n) {
    return {in_f32(n.b, n[0], [&](Value x) { return function(n.b, x); })};
}

// An activation whose parameters are the node's attributes.
template <const char* name>
Values with_parameters(Node& n) {
    const auto parameter = [&](const char* attribute) {
        return n.has(attribute) ? std::optional(n.number(attribute, 0)) : std::nullopt;
    };
    return {activation(n.b, name, n[0], parameter("alpha"), parameter("beta"))};
}

// ---- Two operands ---------------------------------------------------------------------------------------------------

// Before operator set 7, shapes broadcast only if an attribute said so, and from an axis on.
Value second(Node& n) {
    const Value rhs = n[1];
    if (n.version >= 7 || !n.flag("broadcast") || !n.has("axis")) return rhs;
    const int64_t rank = Build::rank_of(n[0]), axis = xnn::axis_of(n.integer("axis"), rank);
    Shape shape = Build::shape_of(rhs);
    if (axis + static_cast<int64_t>(shape.size()) > rank) refuse("the second input does not fit from axis {} on", axis);
    shape.append(static_cast<size_t>(rank - axis) - shape.size(), 1);
    return n.b.reshape(rhs, shape);
}

template <Binary function>
Values binary(Node& n) {
    return {n.b.binary(function, n[0], second(n))};
}

template <Binary function>
Values swapped(Node& n) {
    return {n.b.binary(function, second(n), n[0])};
}

Value quotient(Build& b, Value lhs, Value rhs) {
    // The chip divides floats only: f32 has the quotients of small integers exactly. The largest is -min, which wraps.
    if (Build::is_float(lhs) || Build::element_of(lhs).getIntOrFloatBitWidth() > 16) return b.div(lhs, rhs);
    const Value whole = b.cast(b.div(b.cast(lhs, b.f32()), b.cast(rhs, b.f32())), b.integer(32));
    return b.cast(whole, Build::element_of(lhs));
}

Values div(Node& n) { return {quotient(n.b, n[0], second(n))}; }

// Of floats, the remainder is exact within a bound (docs/compiler.md).
Values mod(Node& n) {
    Build& b = n.b;
    const Value x = n[0], y = n[1];
    if (Build::is_float(x)) {
        if (!n.flag("fmod")) refuse("the remainder of floats is that of fmod(); set the attribute fmod to 1");
        return {in_f32(b, x, [&](Value wide) {
            const Value divisor = b.cast(y, b.f32());
            return b.sub(wide, b.mul(b.unary(Unary::trunc, b.div(wide, divisor)), divisor));
        })};
    }
    const Value rest = b.sub(x, b.mul(quotient(b, x, y), y));
    if (n.flag("fmod")) return {rest};
    const Value zero = b.number(0, x);
    const Value differs = b.binary(Binary::bit_xor, b.binary(Binary::lt, rest, zero), b.binary(Binary::lt, y, zero));
    const Value wrong = b.binary(Binary::bit_and, differs, b.binary(Binary::ne, rest, zero));
    return {b.select(wrong, b.add(rest, y), rest)};
}

Values shift(Node& n) {
    const std::string direction = n.text("direction", "");
    if (direction != "LEFT" && direction != "RIGHT") refuse("the direction is {}", in_quotes(direction));
    const bool left = direction == "LEFT";
    return {n.b.binary(left ? Binary::shl : Binary::shr, n[0], n[1])};
}

// base * base * ..., by squares.
Value whole_power(Build& b, Value base, int64_t exponent) {
    Value result;
    for (Value square = base; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1) result = result ? b.mul(result, square) : square;
        if (exponent > 1) square = b.mul(square, square);
    }
    return result ? result : b.splat(1, Build::element_of(base), Build::shape_of(base));
}

// Of integers, which the chip would compute in f32.
Value power_on_host(Build& b, Value base, Value exponent) {
    Shape shape = Build::shape_of(base);
    if (!xnn::broadcast(shape, Build::shape_of(exponent))) refuse("base and exponent do not broadcast");
    const Shape flat = {b.tensor(shape, Build::element_of(base)).getNumElements()};
    if (Build::is_float(exponent)) exponent = b.cast(exponent, b.f32());
    const Value inputs[] = {b.reshape(b.broadcast(base, shape), flat), b.reshape(b.broadcast(exponent, shape), flat)};
    return b.reshape(b.host("power", inputs, flat, Build::element_of(base)), shape);
}

// The largest exponent whose power is multiplied.
constexpr double kWholeMax = 64;

Values pow(Node& n) {
    Build& b = n.b;
    const Value base = n[0], exponent = second(n);
    const std::optional<double> same = n.splat(exponent);
    const bool scalar =
        same && Build::rank_of(exponent) <= Build::rank_of(base) && Build::type_of(exponent).getNumElements() == 1;
    if (!Build::is_float(base)) {
        if (scalar && *same >= 0 && *same <= kWholeMax && *same == std::floor(*same))
            return {whole_power(b, base, static_cast<int64_t>(*same))};
        return {power_on_host(b, base, exponent)};
    }
    return {in_f32(b, base, [&](Value wide) {
        return scalar ? power(b, wide, *same) : power(b, wide, b.cast(exponent, b.f32()));
    })};
}

// ---- Several operands -----------------------------------------------------------------------------------------------

template <Binary function>
Value folded(Node& n) {
    const std::vector<Value> all = n.all();
    Value result = all[0];
    for (const Value next : llvm::drop_begin(all)) result = n.b.binary(function, result, next);
    return result;
}

template <Binary function>
Values variadic(Node& n) {
    return {folded<function>(n)};
}

Values mean(Node& n) { return {n.b.mul(folded<Binary::add>(n), 1.0 / static_cast<double>(n.inputs()))}; }

Values where(Node& n) { return {n.b.select(n[0], n[1], n[2])}; }

Values clip(Node& n) {
    Build& b = n.b;
    Value x = n[0];
    if (n.version < 11) {
        if (n.has("min")) x = b.max(x, n.number("min", 0));
        if (n.has("max")) x = b.min(x, n.number("max", 0));
        return {x};
    }
    if (const Value low = n.optional(1)) x = b.max(x, low);
    if (const Value high = n.optional(2)) x = b.min(x, high);
    return {x};
}

Values prelu(Node& n) {
    Build& b = n.b;
    Value slope = n[1];
    // Before operator set 7, and in what PyTorch exports of vectors, the slope has an element for each channel.
    const int64_t rank = Build::rank_of(n[0]);
    if (Build::rank_of(slope) == 1 && rank > 2 && n.version < 7) slope = along_axis(b, slope, 1, rank);
    return {leaky(b, n[0], slope)};
}

// ---- Other ----------------------------------------------------------------------------------------------------------

// NaN stays NaN, as in ONNX's reference; PyTorch makes it 0.
Values sign(Node& n) {
    Build& b = n.b;
    const Value x = n[0], zero = b.number(0, x);
    const Value rest =
        Build::element_of(x).isUnsignedInteger() ? x : b.select(b.binary(Binary::lt, x, zero), b.number(-1, x), x);
    return {b.select(b.binary(Binary::lt, zero, x), b.number(1, x), rest)};
}

Values reciprocal(Node& n) { return {n.b.div(n.b.number(1, n[0]), n[0])}; }

Values logical_not(Node& n) { return {n.b.logical_not(n[0])}; }

Values is_nan(Node& n) { return {n.b.binary(Binary::ne, n[0], n[0])}; }

Values is_infinite(Node& n) {
    Build& b = n.b;
    const auto is = [&](double number) { return b.binary(Binary::eq, n[0], number); };
    const bool below = n.flag("detect_negative", true), above = n.flag("detect_positive", true);
    if (below && above) return {b.binary(Binary::bit_or, is(-kInfinity), is(kInfinity))};
    if (!below && !above) return {b.splat(0, b.integer(1), Build::shape_of(n[0]))};
    return {is(below ? -kInfinity : kInfinity)};
}

Values identity(Node& n) { return {n[0]}; }

Values dropout(Node& n) {
    if (n.version < 7 && !n.flag("is_test"))
        refuse("the operator is for training (is_test is 0); export the model in evaluation mode");
    if (n.version >= 12 && n.optional(2)) {
        const std::optional<double> training = n.splat(n[2]), ratio = n.optional(1) ? n.splat(n[1]) : 0.5;
        if (!training) refuse("training_mode (input 2) must be a constant; export the model in evaluation mode");
        if (*training != 0 && !ratio) refuse("the ratio (input 1) must be a constant in training");
        if (*training != 0 && *ratio != 0)
            refuse("dropout drops elements in training only; set training_mode to false");
    }
    return {n[0], n.b.splat(1, n.version < 10 ? Build::element_of(n[0]) : n.b.integer(1), Build::shape_of(n[0]))};
}

Values cast(Node& n) {
    if (n.version < 6) refuse("the operator is supported from operator set 6 on");
    return {n.b.cast(n[0], n.type("to", onnx::TensorProto::UNDEFINED))};
}

Values cast_like(Node& n) { return {n.b.cast(n[0], Build::element_of(n[1]))}; }

Values gelu(Node& n) {
    const std::string approximate = n.text("approximate", "none");
    if (approximate != "none" && approximate != "tanh")
        refuse("the approximation {} is not known", in_quotes(approximate));
    return {n.b.unary(approximate == "tanh" ? Unary::gelu_tanh : Unary::gelu, n[0])};
}

Values hard_swish(Node& n) {
    return {in_f32(n.b, n[0], [&](Value x) { return n.b.mul(x, hard_sigmoid(n.b, x, 1.0 / 6, 0.5)); })};
}

Values celu(Node& n) {
    const double alpha = n.number("alpha", 1);
    return {in_f32(n.b, n[0], [&](Value x) { return exponential_unit(n.b, x, alpha, alpha); })};
}

Values selu(Node& n) {
    const double alpha = n.number("alpha", 1.67326319217681884765625F);
    const double gamma = n.number("gamma", 1.05070102214813232421875F);
    return {in_f32(n.b, n[0], [&](Value x) { return n.b.mul(exponential_unit(n.b, x, alpha, 1), gamma); })};
}

Values shrink(Node& n) {
    Build& b = n.b;
    const double bias = n.number("bias", 0), limit = n.number("lambd", 0.5);
    const Value x = n[0];
    const Value above = b.select(b.binary(Binary::lt, b.number(limit, x), x), b.sub(x, bias), b.number(0, x));
    return {b.select(b.binary(Binary::lt, x, -limit), b.add(x, bias), above)};
}

constexpr char kElu[] = "Elu", kLeaky[] = "LeakyRelu", kHardSigmoid[] = "HardSigmoid",
               kThresholded[] = "ThresholdedRelu";

constexpr Operator kOperators[] = {
    {"Abs", 1, 21, unary<Unary::abs>},
    {"Acos", 7, 21, composed<acos>},
    {"Acosh", 9, 21, composed<acosh>},
    {"Add", 1, 21, binary<Binary::add>},
    {"And", 1, 21, binary<Binary::bit_and>},
    {"Asin", 7, 21, composed<asin>},
    {"Asinh", 9, 21, composed<asinh>},
    {"Atan", 7, 21, composed<atan>},
    {"Atanh", 9, 21, composed<atanh>},
    {"BitShift", 11, 21, shift},
    {"BitwiseAnd", 18, 21, binary<Binary::bit_and>},
    {"BitwiseNot", 18, 21, unary<Unary::invert>},
    {"BitwiseOr", 18, 21, binary<Binary::bit_or>},
    {"BitwiseXor", 18, 21, binary<Binary::bit_xor>},
    {"Cast", 6, 21, cast},
    {"CastLike", 15, 21, cast_like},
    {"Ceil", 1, 21, float_unary<Unary::ceil>},
    {"Celu", 12, 21, celu},
    {"Clip", 1, 21, clip},
    {"Cos", 7, 21, float_unary<Unary::cos>},
    {"Cosh", 9, 21, composed<cosh>},
    {"Div", 1, 21, div},
    {"Dropout", 1, 21, dropout},
    {"Elu", 1, 21, with_parameters<kElu>},
    {"Equal", 1, 21, binary<Binary::eq>},
    {"Erf", 9, 21, float_unary<Unary::erf>},
    {"Exp", 1, 21, float_unary<Unary::exp>},
    {"Floor", 1, 21, float_unary<Unary::floor>},
    {"Gelu", 20, 21, gelu},
    {"Greater", 1, 21, swapped<Binary::lt>},
    {"GreaterOrEqual", 12, 21, swapped<Binary::le>},
    {"HardSigmoid", 1, 21, with_parameters<kHardSigmoid>},
    {"HardSwish", 14, 21, hard_swish},
    {"Identity", 1, 21, identity},
    {"IsInf", 10, 21, is_infinite},
    {"IsNaN", 9, 21, is_nan},
    {"LeakyRelu", 1, 21, with_parameters<kLeaky>},
    {"Less", 1, 21, binary<Binary::lt>},
    {"LessOrEqual", 12, 21, binary<Binary::le>},
    {"Log", 1, 21, float_unary<Unary::log>},
    {"Max", 1, 21, variadic<Binary::max>},
    {"Mean", 1, 21, mean},
    {"Min", 1, 21, variadic<Binary::min>},
    {"Mish", 18, 21, composed<mish>},
    {"Mod", 10, 21, mod},
    {"Mul", 1, 21, binary<Binary::mul>},
    {"Neg", 1, 21, unary<Unary::neg>},
    {"Not", 1, 21, logical_not},
    {"Or", 1, 21, binary<Binary::bit_or>},
    {"Pow", 1, 21, pow},
    {"PRelu", 1, 21, prelu},
    {"Reciprocal", 1, 21, reciprocal},
    {"Relu", 1, 21, [](Node& n) -> Values { return {relu(n.b, n[0])}; }},
    {"Round", 11, 21, float_unary<Unary::round>},
    {"Selu", 1, 21, selu},
    {"Shrink", 9, 21, shrink},
    {"Sigmoid", 1, 21, float_unary<Unary::sigmoid>},
    {"Sign", 9, 21, sign},
    {"Sin", 7, 21, float_unary<Unary::sin>},
    {"Sinh", 9, 21, composed<sinh>},
    {"Softplus", 1, 21, composed<softplus>},
    {"Softsign", 1, 21, composed<softsign>},
    {"Sqrt", 1, 21, float_unary<Unary::sqrt>},
    {"Sub", 1, 21, binary<Binary::sub>},
    {"Sum", 1, 21, variadic<Binary::add>},
    {"Tan", 7, 21, composed<tan>},
    {"Tanh", 1, 21, float_unary<Unary::tanh>},
    {"ThresholdedRelu", 10, 21, with_parameters<kThresholded>},
    {"Where", 9, 21, where},
    {"Xor", 1, 21, binary<Binary::bit_xor>},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kOperators; }

// ---- Shared with other kinds ----------------------------------------------------------------------------------------

Value activation(Build& b, std::string_view name, Value x, std::optional<float> alpha, std::optional<float> beta) {
    if (name == "Relu") return relu(b, x);
    if (name == "Tanh") return b.unary(Unary::tanh, x);
    if (name == "Sigmoid") return b.unary(Unary::sigmoid, x);
    return in_f32(b, x, [&](Value wide) -> Value {
        if (name == "Affine") return b.add(b.mul(wide, alpha.value_or(1)), beta.value_or(0));
        if (name == "LeakyRelu") return leaky(b, wide, b.number(alpha.value_or(0.01F), wide));
        if (name == "ThresholdedRelu") return thresholded(b, wide, alpha.value_or(1));
        if (name == "ScaledTanh") return b.mul(b.unary(Unary::tanh, b.mul(wide, beta.value_or(1))), alpha.value_or(1));
        if (name == "HardSigmoid") return hard_sigmoid(b, wide, alpha.value_or(0.2F), beta.value_or(0.5F));
        if (name == "Elu") return exponential_unit(b, wide, alpha.value_or(1), 1);
        if (name == "Softsign") return softsign(b, wide);
        if (name == "Softplus") return softplus(b, wide);
        refuse("the activation {} is not supported", in_quotes(name));
    });
}

Value power(Build& b, Value base, double exponent) {
    if (exponent == 0.5) return b.unary(Unary::sqrt, base);
    if (exponent == -0.5) return b.unary(Unary::rsqrt, base);
    if (exponent == std::floor(exponent) && std::fabs(exponent) <= kWholeMax) {
        const Value product = whole_power(b, base, static_cast<int64_t>(std::fabs(exponent)));
        return exponent < 0 ? b.div(b.number(1, base), product) : product;
    }
    return power(b, base, b.number(exponent, base));
}

Value power(Build& b, Value base, Value exponent) {
    // |base| ** exponent, and then what a negative base makes of it: minus for odd exponents, NaN for fractions.
    // 1 has all powers, also those whose product with its logarithm is no number.
    const Value of_base = b.unary(Unary::abs, base), one = b.number(1, base);
    const Value product = b.mul(exponent, b.unary(Unary::log, of_base));
    const Value size = b.select(b.binary(Binary::eq, of_base, 1), one, b.unary(Unary::exp, product));
    const Value half = b.mul(exponent, 0.5);
    const Value is_odd = b.binary(Binary::ne, half, b.unary(Unary::floor, half));
    const Value is_fraction = b.binary(Binary::ne, exponent, b.unary(Unary::floor, exponent));
    const Value nan = b.number(std::numeric_limits<double>::quiet_NaN(), base);
    const Value negative = b.select(is_fraction, nan, b.select(is_odd, b.unary(Unary::neg, size), size));
    const Value any = b.select(b.binary(Binary::lt, base, 0), negative, size);
    return b.select(b.binary(Binary::eq, exponent, 0), one, any);
}

std::pair<int64_t, int64_t> range_of(mlir::Type integer) {
    const unsigned bits = integer.getIntOrFloatBitWidth();
    if (integer.isUnsignedInteger()) return {0, (int64_t{1} << bits) - 1};
    return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

Value along_axis(Build& b, Value vector, int64_t axis, int64_t rank) {
    Shape shape(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(xnn::axis_of(axis, rank))] = Build::type_of(vector).getNumElements();
    return b.reshape(vector, shape);
}

}  // namespace sidra::compiler
