// SPDX-License-Identifier: MIT
// The functions of vector programs against long double: the bounds that numerics.h states, and special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench.h"

namespace sidra::vector_reference::test {
namespace {

#define OP(name) SIDRA_VECTOR_OP_##name

using Real = long double;
const Real kPi = std::acos(-1.0L);

Real exact(uint8_t op, float f) {
    const Real x = f;
    switch (op) {
        case OP(EXP):
            return std::exp(x);
        case OP(LOG):
            return std::log(x);
        case OP(ERF):
            return std::erf(x);
        case OP(TANH):
            return std::tanh(x);
        case OP(SIGMOID):
            return 1 / (1 + std::exp(-x));
        case OP(SILU):
            return x / (1 + std::exp(-x));
        case OP(GELU):
            return x * std::erfc(-x / std::sqrt(2.0L)) / 2;
        case OP(GELU_TANH):  // (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), which does not cancel
            return x / (1 + std::exp(-2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x)));
        case OP(SIN):
            return std::sin(x);
        default:
            return std::cos(x);
    }
}

// In units in the last place of the exact value.
double ulp_error(float got, Real value) {
    if (std::isinf(got)) return (got > 0) == (value > 0) && std::fabs(value) >= FLT_MAX ? 0 : INFINITY;
    if (std::fabs(value) > FLT_MAX) return std::fabs(got) == FLT_MAX ? 1 : INFINITY;
    const int exponent = value == 0 ? -126 : std::max(-126, std::ilogb(value));
    return static_cast<double>(std::fabs(got - value) / std::ldexp(1.0L, exponent - 23));
}

struct Bound {
    uint8_t op;
    const char* name;
    double bound;
    float low, high;  // magnitudes
};

class VectorFunction : public testing::TestWithParam<Bound> {};

TEST_P(VectorFunction, IsAsExactAsNumericsSays) {
    const Bound& b = GetParam();
    const char* const wanted = std::getenv("SIDRA_TEST_SAMPLES");
    const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 60000;
    // A regular sample of the floats in the range, of both signs.
    const uint64_t first = bits(b.low), last = bits(b.high);
    std::vector<uint32_t> in;
    for (uint64_t i = 0; i <= count; ++i) {
        in.push_back(static_cast<uint32_t>(first + (last - first) * i / count));
        if (b.op != OP(LOG)) in.push_back(in.back() | 0x80000000);
    }
    if (b.op == OP(SIN) || b.op == OP(COS)) {  // where the results vanish
        for (uint64_t i = 0; i <= count; ++i) {
            const auto x = static_cast<float>(std::floor(Real(i) * (b.high / (kPi / 2)) / Real(count)) * (kPi / 2));
            if (x >= b.low && x <= b.high) in.push_back(bits(x));
        }
    }
    const auto out = apply(b.op, {in});
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        const double error = ulp_error(f32(out[i]), exact(b.op, f32(in[i])));
        if (error > worst) worst = error, at = f32(in[i]);
    }
    EXPECT_LE(worst, b.bound) << b.name << " at " << at;
    RecordProperty("ulp", std::to_string(worst));
    if (wanted != nullptr) std::printf("%s: %.3f ulp at %a (%g)\n", b.name, worst, at, at);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, VectorFunction,
    testing::Values(Bound{OP(EXP), "exp", 1.1, 1e-30f, 110}, Bound{OP(LOG), "log", 1.3, 0x1p-149f, FLT_MAX},
                    Bound{OP(LOG), "log_near_1", 1.3, 0.25f, 4}, Bound{OP(ERF), "erf", 1.3, 1e-38f, 10},
                    Bound{OP(ERF), "erf_middle", 1.3, 0.25f, 4}, Bound{OP(TANH), "tanh", 1.5, 1e-38f, 40},
                    Bound{OP(SIGMOID), "sigmoid", 2.5, 1e-30f, 110}, Bound{OP(SILU), "silu", 3.5, 1e-30f, 112},
                    Bound{OP(GELU), "gelu", 10, 1e-30f, 16}, Bound{OP(GELU), "gelu_inside", 6, 1e-30f, 4},
                    Bound{OP(GELU_TANH), "gelu_tanh", 240, 1e-30f, 12},
                    Bound{OP(GELU_TANH), "gelu_tanh_inside", 3.5, 1e-30f, 1},
                    Bound{OP(SIN), "sin", 2.5, 1e-38f, 0x1p22f}, Bound{OP(SIN), "sin_small", 1.7, 0.1f, 100},
                    Bound{OP(COS), "cos", 2.5, 1e-38f, 0x1p22f}, Bound{OP(COS), "cos_small", 1.7, 0.1f, 100}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(VectorFunctions, SpecialValues) {
    const float inf = INFINITY, big = 3.4e38f, tiny = 1e-45f;
    struct Corner {
        uint8_t op;
        float in, out;
    };
    const Corner corners[] = {
        {OP(EXP), 0.0f, 1.0f},       {OP(EXP), -0.0f, 1.0f},       {OP(EXP), inf, inf},
        {OP(EXP), -inf, 0.0f},       {OP(EXP), big, inf},          {OP(EXP), -big, 0.0f},
        {OP(EXP), tiny, 1.0f},       {OP(LOG), 1.0f, 0.0f},        {OP(LOG), 0.0f, -inf},
        {OP(LOG), -0.0f, -inf},      {OP(LOG), inf, inf},          {OP(LOG), tiny, -0x1.9d1dap+6f},
        {OP(ERF), 0.0f, 0.0f},       {OP(ERF), -0.0f, -0.0f},      {OP(ERF), inf, 1.0f},
        {OP(ERF), -inf, -1.0f},      {OP(ERF), big, 1.0f},         {OP(ERF), -4.0f, -1.0f},
        {OP(TANH), 0.0f, 0.0f},      {OP(TANH), -0.0f, -0.0f},     {OP(TANH), inf, 1.0f},
        {OP(TANH), -inf, -1.0f},     {OP(TANH), tiny, tiny},       {OP(SIGMOID), 0.0f, 0.5f},
        {OP(SIGMOID), inf, 1.0f},    {OP(SIGMOID), -inf, 0.0f},    {OP(SIGMOID), -big, 0.0f},
        {OP(SILU), 0.0f, 0.0f},      {OP(SILU), -0.0f, -0.0f},     {OP(SILU), inf, inf},
        {OP(SILU), -inf, -0.0f},     {OP(SILU), big, big},         {OP(SILU), -big, -0.0f},
        {OP(GELU), 0.0f, 0.0f},      {OP(GELU), -0.0f, -0.0f},     {OP(GELU), inf, inf},
        {OP(GELU), -inf, -0.0f},     {OP(GELU), big, big},         {OP(GELU), -big, -0.0f},
        {OP(GELU_TANH), 0.0f, 0.0f}, {OP(GELU_TANH), inf, inf},    {OP(GELU_TANH), -inf, -0.0f},
        {OP(GELU_TANH), big, big},   {OP(GELU_TANH), -big, -0.0f}, {OP(SIN), 0.0f, 0.0f},
        {OP(COS), 0.0f, 1.0f},       {OP(COS), -0.0f, 1.0f},
    };
    for (const Corner& c : corners)
        EXPECT_EQ(bits(c.out), apply(c.op, {{bits(c.in)}})[0]) << "op " << int{c.op} << " of " << c.in;
    for (uint8_t op = OP(EXP); op <= OP(COS); ++op)
        for (const uint32_t nan : {0x7fc00000u, 0xffc12345u, 0x7f800001u})
            EXPECT_EQ(0x7fc00000u, apply(op, {{nan}})[0]) << "op " << int{op};
    for (const float x : {-1.0f, -tiny, -inf}) EXPECT_EQ(0x7fc00000u, apply(OP(LOG), {{bits(x)}})[0]);
    for (const uint8_t op : {OP(SIN), OP(COS)})
        for (const float x : {inf, -inf, 4194305.0f, -big}) EXPECT_EQ(0x7fc00000u, apply(op, {{bits(x)}})[0]);
}

}  // namespace
}  // namespace sidra::vector_reference::test
