// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <random>

#include "pure.h"

namespace sidra::test {
namespace {

class Range : public Pure {};

TEST_F(Range, FirstFitWithAlignmentAndPhase) {
    sidra_range range;
    ASSERT_EQ(sidra_range_init(&range, 0x1000, 0x100000), 0);
    u64 a = 0, b = 0, c = 0;
    ASSERT_EQ(sidra_range_alloc(&range, 0x1000, 0x1000, 0, 0, &a), 0);
    EXPECT_EQ(a, 0x1000u);
    ASSERT_EQ(sidra_range_alloc(&range, 0x1000, 0x10000, 0x3000, 0, &b), 0);
    EXPECT_EQ(b, 0x3000u);
    ASSERT_EQ(sidra_range_alloc(&range, 0x2000, 0x1000, 0, 0, &c), 0);
    EXPECT_EQ(c, 0x4000u) << "the page between is too small";
    EXPECT_EQ(sidra_range_alloc(&range, 0x100000, 1, 0, 0, &c), -ENOSPC);
    EXPECT_EQ(sidra_range_reserve(&range, 0x3800, 0x100), -ENOSPC);
    ASSERT_EQ(sidra_range_reserve(&range, 0x2000, 0x1000), 0);
    EXPECT_EQ(sidra_range_largest(&range), 0x100000u - 0x6000);
    sidra_range_free(&range, 0x2000, 0x1000);
    sidra_range_free(&range, 0x1000, 0x1000);
    sidra_range_free(&range, 0x4000, 0x2000);
    sidra_range_free(&range, 0x3000, 0x1000);
    EXPECT_EQ(range.total, 0x100000u - 0x1000);
    EXPECT_EQ(sidra_range_largest(&range), range.total) << "neighbours are merged";
    sidra_range_fini(&range);
}

TEST_F(Range, AgainstAMapOfPages) {
    sidra_range range;
    constexpr u64 kPages = 300;
    ASSERT_EQ(sidra_range_init(&range, 0, kPages), 0);
    std::vector<bool> taken(kPages);
    std::map<u64, u64> live;
    std::mt19937 random(7);
    for (int step = 0; step < 20'000; step++) {
        if (random() % 2 == 0 && !live.empty()) {
            auto place = live.begin();
            std::advance(place, random() % live.size());
            shim_fail_after = 1;  // freeing needs no memory
            sidra_range_free(&range, place->first, place->second);
            EXPECT_EQ(shim_fail_after, 1u);
            shim_fail_after = 0;
            std::fill_n(taken.begin() + static_cast<long>(place->first), place->second, false);
            live.erase(place);
            continue;
        }
        const u64 size = 1 + random() % 12, alignment = u64{1} << random() % 4, phase = random() % alignment;
        const u64 from = random() % 2 ? random() % kPages : 0;
        u64 expected = kPages;
        for (const u64 lowest : {from, u64{0}}) {
            for (u64 at = phase; at + size <= kPages && expected == kPages; at += alignment) {
                const auto first = taken.begin() + static_cast<long>(at), end = first + static_cast<long>(size);
                if (at >= lowest && std::find(first, end, true) == end) expected = at;
            }
        }
        u64 at = 0;
        const int error = sidra_range_alloc(&range, size, alignment, phase, from, &at);
        ASSERT_EQ(error, expected == kPages ? -ENOSPC : 0);
        if (error) continue;
        ASSERT_EQ(at, expected);
        std::fill_n(taken.begin() + static_cast<long>(at), size, true);
        live[at] = size;
    }
    EXPECT_EQ(range.total, static_cast<u64>(std::count(taken.begin(), taken.end(), false)));
    EXPECT_LE(range.nodes, kPages) << "nodes do not pile up";
    sidra_range_fini(&range);
}

// So many ranges are freed while others wait for a lock.
TEST_F(Range, WorksWithoutASearchThroughAllOfThem) {
    constexpr u64 kRanges = 4096;
    sidra_range range;
    ASSERT_EQ(sidra_range_init(&range, 0, 2 * kRanges), 0);
    u64 at = 0;
    for (u64 i = 0; i < kRanges; i++) ASSERT_EQ(sidra_range_alloc(&range, 1, 1, 0, at, &at), 0);
    const unsigned long before = shim_visits;
    for (u64 i = 0; i < kRanges; i += 2) sidra_range_free(&range, i, 1);
    for (u64 i = 0; i < kRanges / 2; i++) ASSERT_EQ(sidra_range_alloc(&range, 2, 1, 0, 0, &at), 0);
    EXPECT_EQ(at, 2 * kRanges - 2) << "those that are free in between are too small";
    for (u64 i = 0; i < kRanges; i += 4) ASSERT_EQ(sidra_range_reserve(&range, i, 1), 0);
    EXPECT_LT(shim_visits - before, kRanges * 200);
    sidra_range_fini(&range);
}

TEST_F(Range, NoMemoryChangesNothing) {
    sidra_range range;
    ASSERT_EQ(sidra_range_init(&range, 0, 100), 0);
    u64 at;
    shim_fail_after = 1;
    EXPECT_EQ(sidra_range_alloc(&range, 10, 1, 0, 0, &at), -ENOMEM);
    shim_fail_after = 1;
    EXPECT_EQ(sidra_range_reserve(&range, 50, 10), -ENOMEM);
    EXPECT_EQ(range.total, 100u);
    shim_fail_after = 1;
    sidra_range other;
    EXPECT_EQ(sidra_range_init(&other, 0, 100), -ENOMEM);
    ASSERT_EQ(sidra_range_init(&other, 5, 5), 0);
    EXPECT_EQ(sidra_range_alloc(&other, 1, 1, 0, 0, &at), -ENOSPC);
    sidra_range_fini(&other);
    sidra_range_fini(&range);
}

}  // namespace
}  // namespace sidra::test
