// SPDX-License-Identifier: MIT
// Offsets of ADCs as measured by reads without driven inputs. Expectations: the law of rounding to codes, and the
// offsets that the test sets.
#include "offset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

namespace sidra::test {
namespace {

using physics::read_offset;
using physics::ReadoutParameters;

constexpr double kMargin = 1.25, kCodes = 127;

TEST(Offset, AGoodAdcReadsZero) {
    for (uint32_t crossbar = 0; crossbar < 6400; crossbar++)
        ASSERT_EQ(read_offset({}, {1, crossbar, 0, 1}, 0), 0) << crossbar;
}

// The range that contains it is at most twice as wide as necessary, and has 127 codes on each side.
TEST(Offset, LargeOnesAreReadAsCoarselyAsTheirRangeIs) {
    double most = 0;
    for (int32_t offset = -1'000'000; offset <= 1'000'000; offset += 997) {
        const double step = 2 * kMargin * std::max(std::abs(offset), 1) / kCodes;
        const double error = std::fabs(static_cast<double>(read_offset({}, {7, 3, 0, 8}, offset) - offset));
        ASSERT_LE(error, step / 2 + 0.5 + 0.01 * step * kCodes) << offset;
        most = std::max(most, error);
    }
    EXPECT_GT(most, 100) << "nothing was rounded";
    ReadoutParameters exact;
    exact.adc_bits = 0;
    exact.adc_noise = 0;
    EXPECT_EQ(read_offset(exact, {7, 3, 0, 8}, 123'457), 123'457);
}

TEST(Offset, WhatIsOutOfTheWidestRangeIsCut) {
    const int32_t widest = static_cast<int32_t>(127.0 * 255 * 256 * kMargin);
    EXPECT_EQ(read_offset({}, {1, 0, 0, 8}, 2e9), widest);
    EXPECT_EQ(read_offset({}, {1, 0, 0, 8}, -2e9), -widest);
}

TEST(Offset, NoiseIsKeyedBySeedCrossbarAndRead) {
    ReadoutParameters noisy;
    noisy.adc_noise = 0.1;
    noisy.adc_bits = 0;
    const auto read = [&](uint64_t seed, uint32_t crossbar, uint32_t first) {
        return read_offset(noisy, {seed, crossbar, first, 1}, 1000);
    };
    EXPECT_EQ(read(1, 2, 3), read(1, 2, 3));
    EXPECT_EQ((std::set<int32_t>{read(1, 2, 3), read(2, 2, 3), read(1, 3, 3), read(1, 2, 4)}.size()), 4u);
    // More reads measure more precisely.
    double one = 0, many = 0;
    for (uint32_t crossbar = 0; crossbar < 1000; crossbar++) {
        one += std::pow(read_offset(noisy, {5, crossbar, 0, 1}, 0), 2);
        many += std::pow(read_offset(noisy, {5, crossbar, 0, 64}, 0), 2);
    }
    EXPECT_LT(many, one / 4);
}

}  // namespace
}  // namespace sidra::test
