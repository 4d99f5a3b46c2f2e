// SPDX-License-Identifier: MIT
// Trims of ADCs: how calibration corrects an offset, at both levels.
#include "adcs.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sidra::chip_test {
namespace {

using chip::Adcs;
using Level = std::optional<uint64_t>;  // by the seed

constexpr uint32_t kXbars = 10;
constexpr int32_t kMax = Adcs::kTrimMax;

class Trims : public testing::TestWithParam<Level> {
   protected:
    Adcs adcs_{kXbars};
    Adcs::Found calibrate(uint32_t first, uint32_t count) { return adcs_.calibrate(first, count, GetParam()); }
};

TEST_P(Trims, GoodOnesStayAsTheyAre) {
    const Adcs::Found found = calibrate(0, kXbars);
    EXPECT_EQ(found.changed + found.beyond + found.worst, 0u);
    EXPECT_TRUE(adcs_.exact());
}

TEST_P(Trims, EveryOffsetWithinTheirEndsIsTakenOff) {
    for (int32_t offset = -kMax + 1; offset < kMax; offset++) {
        adcs_.set_offset(offset);
        const Adcs::Found found = calibrate(3, 1);
        ASSERT_EQ(adcs_.trim(3), -offset);
        ASSERT_EQ(adcs_.off(3), 0u);
        ASSERT_EQ(found.worst, static_cast<uint32_t>(std::abs(offset)));
        ASSERT_EQ(found.beyond, 0u);
    }
    EXPECT_EQ(adcs_.off(2), static_cast<uint32_t>(kMax - 1)) << "nobody asked for this one";
}

TEST_P(Trims, OnesBeyondAreLeftAtTheirEndsAndCounted) {
    for (const int32_t offset : {kMax, 5'000, 2'000'000'000, -kMax, -5'000, INT32_MIN}) {
        adcs_.clear();
        adcs_.set_offset(offset);
        const Adcs::Found found = calibrate(1, 4);
        EXPECT_EQ(adcs_.trim(4), offset > 0 ? -kMax : kMax) << offset;
        EXPECT_EQ(adcs_.off(4), static_cast<uint32_t>(offset) + static_cast<uint32_t>(adcs_.trim(4)));
        EXPECT_EQ(found.changed, 4u);
        EXPECT_EQ(found.beyond, 4u);
        EXPECT_EQ(adcs_.beyond(), 4u);
        EXPECT_GE(found.worst, static_cast<uint32_t>(kMax));
    }
    adcs_.set_offset(0);
    EXPECT_EQ(calibrate(1, 2).changed, 2u);
    EXPECT_EQ(adcs_.beyond(), 2u);
    EXPECT_FALSE(adcs_.exact());
    calibrate(0, kXbars);
    EXPECT_EQ(adcs_.beyond(), 0u);
    EXPECT_TRUE(adcs_.exact()) << "all as before";
}

INSTANTIATE_TEST_SUITE_P(Levels, Trims, testing::Values(Level{}, Level{1}, Level{99}),
                         [](const auto& one) { return one.param ? "seed" + std::to_string(*one.param) : "fast"; });

TEST(TrimsLoaded, AreJudged) {
    Adcs adcs(kXbars);
    for (const auto& [xbar, trim] : {std::pair{kXbars, 1}, {~0u, 1}, {0u, kMax + 1}, {0u, -kMax - 1}, {0u, INT32_MIN}})
        EXPECT_FALSE(adcs.set_trim(xbar, trim));
    EXPECT_TRUE(adcs.exact());
    EXPECT_TRUE(adcs.set_trim(9, -kMax));
    EXPECT_EQ(adcs.beyond(), 1u);
    EXPECT_TRUE(adcs.set_trim(9, 7));
    EXPECT_EQ(adcs.beyond(), 0u);
    EXPECT_EQ(adcs.off(9), 7u);
    adcs.clear();
    EXPECT_TRUE(adcs.exact());
}

}  // namespace
}  // namespace sidra::chip_test
