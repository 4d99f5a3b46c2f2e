// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "range_allocator.h"
#include "xbar_allocator.h"

namespace sidra::embedded {
namespace {

TEST(RangeAllocator, GivesTheLowestFit) {
    RangeAllocator ranges(10, 100);
    EXPECT_EQ(ranges.allocate(5), 10u);
    EXPECT_EQ(ranges.allocate(5, 16), 16u);
    EXPECT_EQ(ranges.allocate(1), 15u) << "the gap before an aligned range is not lost";
    EXPECT_EQ(ranges.allocate(4, 32, 7), 39u);
    EXPECT_FALSE(ranges.allocate(91));
    EXPECT_FALSE(ranges.allocate(~uint64_t{0}));
}

TEST(RangeAllocator, MergesWhatComesBack) {
    RangeAllocator ranges(0, 30);
    for (uint64_t at : {0, 10, 20}) EXPECT_EQ(ranges.allocate(10), at);
    EXPECT_EQ(ranges.free_total(), 0u);
    ranges.free(0, 10);
    ranges.free(20, 10);
    EXPECT_EQ(ranges.largest_free(), 10u);
    ranges.free(10, 10);
    EXPECT_EQ(ranges.largest_free(), 30u);
}

TEST(RangeAllocator, ReservesExactly) {
    RangeAllocator ranges(0, 100);
    EXPECT_TRUE(ranges.reserve(40, 10));
    EXPECT_FALSE(ranges.reserve(45, 1));
    EXPECT_FALSE(ranges.reserve(35, 6));
    EXPECT_FALSE(ranges.reserve(95, 6));
    EXPECT_FALSE(ranges.reserve(50, ~uint64_t{0}));
    EXPECT_EQ(ranges.free_total(), 90u);
}

TEST(RangeAllocator, RandomUseAgreesWithABitmap) {
    std::mt19937_64 random(3);
    constexpr uint64_t kEnd = 512;
    RangeAllocator ranges(0, kEnd);
    std::vector<bool> taken(kEnd);
    std::vector<std::pair<uint64_t, uint64_t>> held;
    for (int step = 0; step < 20000; step++) {
        if (random() % 2 == 0) {
            const uint64_t size = 1 + random() % 40, alignment = uint64_t{1} << random() % 6,
                           phase = random() % alignment;
            std::optional<uint64_t> expected;
            const uint64_t from = random() % 2 ? random() % kEnd : 0;
            for (const uint64_t lowest : {from, uint64_t{0}})
                for (uint64_t at = phase; at + size <= kEnd && !expected; at += alignment)
                    if (at >= lowest &&
                        std::none_of(taken.begin() + static_cast<long>(at),
                                     taken.begin() + static_cast<long>(at + size), [](bool b) { return b; }))
                        expected = at;
            const auto got = ranges.allocate(size, alignment, phase, from);
            ASSERT_EQ(got, expected);
            if (!got) continue;
            std::fill_n(taken.begin() + static_cast<long>(*got), size, true);
            held.emplace_back(*got, size);
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            ranges.free(held.back().first, held.back().second);
            std::fill_n(taken.begin() + static_cast<long>(held.back().first), held.back().second, false);
            held.pop_back();
        }
        ASSERT_EQ(ranges.free_total(), static_cast<uint64_t>(std::count(taken.begin(), taken.end(), false)));
    }
}

TEST(XbarAllocator, KeepsSmallObjectsInOneComputeUnit) {
    XbarAllocator xbars(64, 16);
    EXPECT_EQ(xbars.allocate(10).front(), 0u);
    EXPECT_EQ(xbars.allocate(10).front(), 16u) << "10 more would cross into the next unit";
    EXPECT_EQ(xbars.allocate(6).front() / 16, 0u) << "fills the first unit before a fresh one is begun";
    EXPECT_EQ(xbars.allocate(16).front(), 32u);
}

TEST(XbarAllocator, PrefersRunsButTakesWhatThereIs) {
    XbarAllocator xbars(32, 16);
    const auto all = xbars.allocate(32);
    EXPECT_EQ(all.size(), 32u);
    EXPECT_TRUE(xbars.allocate(1).empty());
    const std::vector<uint32_t> holes = {1, 3, 5, 6, 20};
    xbars.free(holes);
    EXPECT_TRUE(xbars.allocate(6).empty());
    EXPECT_EQ(xbars.allocate(2), (std::vector<uint32_t>{5, 6}));
    auto rest = xbars.allocate(3);
    std::sort(rest.begin(), rest.end());
    EXPECT_EQ(rest, (std::vector<uint32_t>{1, 3, 20}));
    EXPECT_EQ(xbars.free_count(), 0u);
}

TEST(XbarAllocator, LargeObjectsAreOneRun) {
    XbarAllocator xbars(6400, 16);
    xbars.allocate(3);
    const auto large = xbars.allocate(256);
    ASSERT_EQ(large.size(), 256u);
    EXPECT_EQ(large.front() % 16, 0u);
    for (size_t i = 1; i < large.size(); i++) EXPECT_EQ(large[i], large[i - 1] + 1);
}

TEST(XbarAllocator, NeverGivesOneTwice) {
    std::mt19937 random(5);
    XbarAllocator xbars(200, 8);
    std::set<uint32_t> taken;
    std::vector<std::vector<uint32_t>> held;
    for (int step = 0; step < 3000; step++) {
        if (random() % 2) {
            const uint32_t count = 1 + random() % 40;
            auto got = xbars.allocate(count);
            ASSERT_EQ(got.empty(), count > 200 - taken.size());
            for (uint32_t xbar : got) ASSERT_TRUE(xbar < 200 && taken.insert(xbar).second);
            if (!got.empty()) held.push_back(std::move(got));
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            for (uint32_t xbar : held.back()) taken.erase(xbar);
            xbars.free(held.back());
            held.pop_back();
        }
    }
}

}  // namespace
}  // namespace sidra::embedded
