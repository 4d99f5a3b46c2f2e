// SPDX-License-Identifier: MIT
// Counter-based random numbers, and their distributions. Expectations: the test vectors of Philox's authors, the C
// library in double, and the distributions themselves.
#include "random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sidra::test {
namespace {

using physics::Domain;
using physics::Draw;
using physics::Words;

// From tests/kat_vectors of Random123 (github.com/DEShawResearch/random123), "philox4x32 10".
TEST(Random, KnownAnswersOfPhilox) {
    EXPECT_EQ(physics::philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(physics::philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(physics::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryPartOfADrawCounts) {
    const Draw draw{1, Domain::kPulse, 2, 3, 4, 5};
    std::vector<Words> all{physics::words(draw)};
    const auto add = [&](auto change) {
        Draw other = draw;
        change(other);
        all.push_back(physics::words(other));
    };
    add([](Draw& d) { d.seed = 2; });
    add([](Draw& d) { d.seed |= uint64_t{1} << 32; });
    add([](Draw& d) { d.domain = Domain::kRelaxation; });
    add([](Draw& d) { d.crossbar++; });
    add([](Draw& d) { d.cell++; });
    add([](Draw& d) { d.program++; });
    add([](Draw& d) { d.draw++; });
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Random, LogarithmWithinItsBound) {
    for (float x = 2.4e-10f; x < 1e10f; x *= 1.00037f) {
        const double expected = std::log(static_cast<double>(x));
        ASSERT_NEAR(physics::same_log(x), expected, 1e-7 + 3e-7 * std::fabs(expected)) << x;
    }
    EXPECT_EQ(physics::same_log(1), 0);
}

TEST(Random, ExponentialWithinItsBound) {
    for (float x = -80; x <= 80; x += 0.00173f) {
        const double expected = std::exp(static_cast<double>(x));
        ASSERT_NEAR(physics::same_exp(x) / expected, 1, 8e-8 * (4 + std::fabs(x))) << x;
    }
    EXPECT_EQ(physics::same_exp(0), 1);
}

// The same bits of randomness through the formula in double.
TEST(Random, NormalsWithinTheirBound) {
    const auto check = [](uint32_t first, uint32_t second) {
        const double radius = std::sqrt(-2 * std::log((static_cast<double>(first >> 1) + 0.5) * 0x1p-31));
        const double angle = static_cast<double>(static_cast<int32_t>(second << 2)) * 0x1p-31 * std::acos(-1.0) / 4;
        double c = std::cos(angle) * radius, s = std::sin(angle) * radius;
        if ((second >> 30 & 1) != 0) c = -c;
        if (second >> 31 != 0) std::swap(c, s);
        const auto [a, b] = physics::normals(first, second);
        // Close to u = 1 the 24 bits of a float do not resolve u: an error of 2.5e-4 in the radius, with probability
        // 1e-6.
        const double bound = radius < 0.01 ? 2.6e-4 : 2e-6;
        ASSERT_NEAR(a, c, bound) << first << ' ' << second;
        ASSERT_NEAR(b, s, bound) << first << ' ' << second;
    };
    for (uint32_t i = 0; i < 200000; i++) {
        const Words w = physics::words({7, Domain::kPulse, 0, i, 0, 0});
        check(w[0], w[1]);
    }
    for (const uint32_t first : {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu})
        for (const uint32_t second : {0u, 1u, 0x1fffffffu, 0x20000000u, 0x3fffffffu, 0x40000000u, 0x80000000u, ~0u})
            check(first, second);
}

TEST(Random, UniformsStayInside) {
    EXPECT_GT(physics::uniform(0), 0);
    EXPECT_LT(physics::uniform(~0u), 1);
    EXPECT_EQ(physics::uniform(0x400) - physics::uniform(0x200), 0x1p-23f);
}

// Moments within five standard errors, and the distribution within the Kolmogorov-Smirnov bound of level 1e-4 (a fixed
// seed: it passes or it does not, always).
TEST(Random, MomentsAndDistributionOfNormals) {
    constexpr uint32_t kCount = 1 << 20;
    std::vector<double> all;
    double product = 0;
    for (uint32_t i = 0; i < kCount / 2; i++) {
        const Words w = physics::words({11, Domain::kRelaxation, i / 65536, i % 65536, 0, 0});
        const auto [a, b] = physics::normals(w[2], w[3]);
        all.push_back(a);
        all.push_back(b);
        product += static_cast<double>(a) * b;
    }
    const double n = kCount;
    double moment[5] = {};
    for (const double x : all)
        for (int k = 1; k <= 4; k++) moment[k] += std::pow(x, k) / n;
    EXPECT_NEAR(moment[1], 0, 5 / std::sqrt(n));
    EXPECT_NEAR(moment[2], 1, 5 * std::sqrt(2 / n));
    EXPECT_NEAR(moment[3], 0, 5 * std::sqrt(15 / n));
    EXPECT_NEAR(moment[4], 3, 5 * std::sqrt(96 / n));
    EXPECT_NEAR(product / (n / 2), 0, 5 / std::sqrt(n / 2));  // of a pair: not correlated
    std::sort(all.begin(), all.end());
    double worst = 0;
    for (uint32_t i = 0; i < kCount; i++) {
        const double law = 0.5 * std::erfc(-all[i] / std::sqrt(2.0));
        worst = std::max({worst, std::fabs(law - i / n), std::fabs(law - (i + 1) / n)});
    }
    EXPECT_LT(worst * std::sqrt(n), std::sqrt(std::log(2 / 1e-4) / 2));
}

}  // namespace
}  // namespace sidra::test
