// SPDX-License-Identifier: MIT
// Level `cycle`: which compute unit is busy when. Expectations are worked out by hand: an MVM of a crossbar takes 15 ns
// and 13,107 pJ, and 3 W supply one every 4,369 ps, so four at a time, for 17,476 ps, use the whole budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "schedule.h"

namespace sidra::chip {

bool operator==(const Stretch& a, const Stretch& b) {
    return a.cu == b.cu && a.xbars == b.xbars && a.begin_ps == b.begin_ps && a.end_ps == b.end_ps &&
           a.busy_ps == b.busy_ps && a.energy_pj == b.energy_pj;
}
void PrintTo(const Stretch& s, std::ostream* out) {
    *out << "{CU " << s.cu << ", " << s.xbars << " crossbars, " << s.begin_ps << " to " << s.end_ps << ", busy "
         << s.busy_ps << ", " << s.energy_pj << " pJ}";
}

namespace {

using Stretches = std::vector<Stretch>;

// Crossbars 0, 1, ...; four a compute unit.
Stretches mvm(uint32_t tiles, uint64_t batch, const Cost& work) {
    std::vector<uint32_t> xbars(tiles);
    std::iota(xbars.begin(), xbars.end(), 0u);
    return schedule_mvm(xbars, batch, work, 4);
}

TEST(ScheduleUnits, OneToThreeCrossbarsAreBoundByTheArray) {
    EXPECT_EQ(mvm(1, 1, {15'000, 13'107}), (Stretches{{0, 1, 0, 15'000, 15'000, 13'107}}));
    EXPECT_EQ(mvm(3, 1, {15'000, 39'321}), (Stretches{{0, 3, 0, 15'000, 45'000, 39'321}}));
    EXPECT_EQ(mvm(3, 10, {150'000, 393'210}), (Stretches{{0, 3, 0, 150'000, 450'000, 393'210}}));
}

TEST(ScheduleUnits, FromFourOnTheGovernorLetsFourWorkAtATime) {
    EXPECT_EQ(mvm(4, 1, {17'476, 52'428}), (Stretches{{0, 4, 0, 17'476, 60'000, 52'428}})) << "3.43 of them are busy";
    EXPECT_EQ(mvm(8, 1, {34'952, 104'856}),
              (Stretches{{0, 4, 0, 17'476, 60'000, 52'428}, {1, 4, 17'476, 34'952, 60'000, 52'428}}));
    EXPECT_EQ(mvm(5, 2, {43'690, 131'070}),
              (Stretches{{0, 4, 0, 43'690, 120'000, 104'856}, {1, 1, 0, 43'690, 30'000, 26'214}}))
        << "one is too few to be alone";
    EXPECT_EQ(mvm(9, 1, {39'321, 117'963}), (Stretches{{0, 4, 0, 17'476, 60'000, 52'428},
                                                       {1, 4, 17'476, 39'321, 60'000, 52'428},
                                                       {2, 1, 17'476, 39'321, 15'000, 13'107}}));
}

TEST(ScheduleUnits, WhereTimeIsShortOfNothingOneWorksAtATime) {
    EXPECT_EQ(mvm(2, 1, {1'000'000, 26'214}),
              (Stretches{{0, 1, 0, 500'000, 15'000, 13'107}, {0, 1, 500'000, 1'000'000, 15'000, 13'107}}));
}

TEST(ScheduleUnits, WholeChipStaysWithinItsBudgetAndAddsUp) {
    constexpr uint64_t kTiles = 6'400, kBatch = 7;
    const Cost work{kTiles * kBatch * 4'369, kTiles * kBatch * 13'107};
    uint64_t busy = 0, energy = 0, end = 0;
    for (const Stretch& s : mvm(kTiles, kBatch, work)) {
        EXPECT_TRUE(s.begin_ps == end || s.end_ps == end) << "groups follow each other";
        end = s.end_ps;
        EXPECT_LE(s.busy_ps, s.xbars * (s.end_ps - s.begin_ps)) << "no crossbar is more than busy";
        busy += s.busy_ps;
        energy += s.energy_pj;
    }
    EXPECT_EQ(end, work.device_ps);
    EXPECT_EQ(energy, work.energy_pj);
    EXPECT_EQ(busy, kTiles * kBatch * 15'000);
}

TEST(ScheduleUnits, ProgrammingIsOneTileAfterTheOther) {
    const TileWork tiles[] = {{5, 100}, {2, 300}};
    EXPECT_EQ(schedule_program(tiles, {1'001, 40}, 4),
              (Stretches{{1, 1, 0, 250, 250, 10}, {0, 1, 250, 1'001, 751, 30}}));
    EXPECT_EQ(schedule_program(tiles, {0, 0}, 4).back().end_ps, 0u);
}

}  // namespace
}  // namespace sidra::chip
