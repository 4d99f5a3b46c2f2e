// SPDX-License-Identifier: MIT
// Float functions against long double: the bounds that numerics.h states, and special values. All engines give the same
// bits (vec_parity_test), but each one is measured, so that this test does not depend on that one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

using Real = long double;

Real exact(uint32_t op, float f) {
    const Real x = f;
    switch (op) {
        case SIDRA_VEC_OP_GELU:
            return std::isinf(f) ? (f > 0 ? x : 0.0L) : 0.5L * x * std::erfc(-x / std::sqrt(2.0L));
        case SIDRA_VEC_OP_GELU_TANH: {
            if (std::isinf(f)) return f > 0 ? x : 0.0L;
            // 0.5 (1 + tanh u) = 1 / (1 + exp(-2u)), which does not cancel
            const Real u = std::sqrt(2.0L / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
            return x / (1.0L + std::exp(-2.0L * u));
        }
        case SIDRA_VEC_OP_SIGMOID:
            return 1.0L / (1.0L + std::exp(-x));
        case SIDRA_VEC_OP_TANH:
            return std::tanh(x);
        case SIDRA_VEC_OP_SILU:
            return std::isinf(f) ? (f > 0 ? x : 0.0L) : x / (1.0L + std::exp(-x));
        default:
            return std::exp(x);
    }
}

std::vector<float> evaluate(const Engine* engine, uint32_t op, const std::vector<float>& in) {
    std::vector<float> out(in.size());
    engine->vec({op, SIDRA_TYPE_F32, SIDRA_TYPE_F32, 1, static_cast<uint32_t>(in.size()), in.data(), nullptr,
                 out.data(), in.size() * 4, 0, in.size() * 4, 0, 0});
    return out;
}

// A regular sample of the floats of both signs with magnitudes in [low, high].
std::vector<float> sample(float low, float high, uint32_t count) {
    const uint64_t first = std::bit_cast<uint32_t>(low), last = std::bit_cast<uint32_t>(high);
    std::vector<float> all;
    for (uint64_t i = 0; i <= count; ++i) {
        const float x = std::bit_cast<float>(static_cast<uint32_t>(first + (last - first) * i / count));
        all.push_back(x);
        all.push_back(-x);
    }
    return all;
}

struct Bound {
    uint32_t op;
    const char* name;
    double bound;
    float low, high;
};

class FunctionBound : public testing::TestWithParam<Bound> {};

TEST_P(FunctionBound, Holds) {
    const Bound& b = GetParam();
    const auto in = sample(b.low, b.high, 60000);
    std::vector<Real> expected;
    for (const float x : in) expected.push_back(exact(b.op, x));
    for (const Engine* engine : engines()) {
        const auto out = evaluate(engine, b.op, in);
        double worst = 0;
        float at = 0;
        for (size_t i = 0; i < in.size(); ++i) {
            const double error = ulp_error(out[i], expected[i]);
            if (error > worst) worst = error, at = in[i];
        }
        EXPECT_LE(worst, b.bound) << b.name << " of " << engine->name << " at " << at;
        RecordProperty(engine->name, std::to_string(worst));
        if (std::getenv("SIDRA_TEST_SHOW_ULP") != nullptr)
            std::printf("%s %s: %.3f ulp at %a (%g)\n", b.name, engine->name, worst, at, at);
    }
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionBound,
                         testing::Values(Bound{SIDRA_VEC_OP_EXP, "exp", 1.1, 1e-30f, 110.0f},
                                         Bound{SIDRA_VEC_OP_TANH, "tanh", 1.5, 1e-38f, 40.0f},
                                         Bound{SIDRA_VEC_OP_SIGMOID, "sigmoid", 2.5, 1e-30f, 110.0f},
                                         Bound{SIDRA_VEC_OP_SILU, "silu", 3.5, 1e-30f, 112.0f},
                                         Bound{SIDRA_VEC_OP_GELU, "gelu", 10, 1e-30f, 16.0f},
                                         Bound{SIDRA_VEC_OP_GELU, "gelu_inside", 6, 1e-30f, 4.0f},
                                         Bound{SIDRA_VEC_OP_GELU_TANH, "gelu_tanh", 240, 1e-30f, 12.0f},
                                         Bound{SIDRA_VEC_OP_GELU_TANH, "gelu_tanh_inside", 3.5, 1e-30f, 1.0f}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Function, Corners) {
    const float inf = INFINITY, big = 3.4e38f;
    struct Corner {
        uint32_t op;
        float in, out;
    };
    const std::vector<Corner> corners = {
        {SIDRA_VEC_OP_EXP, 0.0f, 1.0f},        {SIDRA_VEC_OP_EXP, -0.0f, 1.0f},
        {SIDRA_VEC_OP_EXP, inf, inf},          {SIDRA_VEC_OP_EXP, -inf, 0.0f},
        {SIDRA_VEC_OP_EXP, big, inf},          {SIDRA_VEC_OP_EXP, -big, 0.0f},
        {SIDRA_VEC_OP_EXP, 1e-45f, 1.0f},      {SIDRA_VEC_OP_TANH, 0.0f, 0.0f},
        {SIDRA_VEC_OP_TANH, -0.0f, -0.0f},     {SIDRA_VEC_OP_TANH, inf, 1.0f},
        {SIDRA_VEC_OP_TANH, -inf, -1.0f},      {SIDRA_VEC_OP_TANH, 1e-45f, 1e-45f},
        {SIDRA_VEC_OP_SIGMOID, 0.0f, 0.5f},    {SIDRA_VEC_OP_SIGMOID, inf, 1.0f},
        {SIDRA_VEC_OP_SIGMOID, -inf, 0.0f},    {SIDRA_VEC_OP_SIGMOID, -big, 0.0f},
        {SIDRA_VEC_OP_SILU, 0.0f, 0.0f},       {SIDRA_VEC_OP_SILU, -0.0f, -0.0f},
        {SIDRA_VEC_OP_SILU, inf, inf},         {SIDRA_VEC_OP_SILU, -inf, -0.0f},
        {SIDRA_VEC_OP_SILU, big, big},         {SIDRA_VEC_OP_SILU, -big, -0.0f},
        {SIDRA_VEC_OP_GELU, 0.0f, 0.0f},       {SIDRA_VEC_OP_GELU, -0.0f, -0.0f},
        {SIDRA_VEC_OP_GELU, inf, inf},         {SIDRA_VEC_OP_GELU, -inf, -0.0f},
        {SIDRA_VEC_OP_GELU, big, big},         {SIDRA_VEC_OP_GELU, -big, -0.0f},
        {SIDRA_VEC_OP_GELU_TANH, 0.0f, 0.0f},  {SIDRA_VEC_OP_GELU_TANH, inf, inf},
        {SIDRA_VEC_OP_GELU_TANH, -inf, -0.0f}, {SIDRA_VEC_OP_GELU_TANH, big, big},
        {SIDRA_VEC_OP_GELU_TANH, -big, -0.0f}, {SIDRA_VEC_OP_RELU, -0.0f, 0.0f},
        {SIDRA_VEC_OP_RELU, -inf, 0.0f},       {SIDRA_VEC_OP_RELU, inf, inf},
    };
    for (const Engine* engine : engines()) {
        for (const Corner& c : corners) {
            EXPECT_EQ(std::bit_cast<uint32_t>(c.out), std::bit_cast<uint32_t>(evaluate(engine, c.op, {c.in})[0]))
                << engine->name << " op " << c.op << " of " << c.in;
        }
        for (uint32_t op = SIDRA_VEC_OP_RELU; op <= SIDRA_VEC_OP_EXP; ++op) {
            for (const uint32_t nan : {0x7fc00000u, 0xffc12345u, 0x7f800001u}) {
                EXPECT_EQ(0x7fc00000u, std::bit_cast<uint32_t>(evaluate(engine, op, {std::bit_cast<float>(nan)})[0]))
                    << engine->name << " op " << op;
            }
        }
    }
}

}  // namespace
}  // namespace sidra::engine::test
