// SPDX-License-Identifier: MIT
// Which values of a chip's programming report the driver accepts.
#include <cstring>
#include <functional>
#include <iterator>

#include "pure.h"

namespace sidra::test {
namespace {

class Report : public Pure {
   protected:
    static constexpr u64 kUid = 77;
    static constexpr u32 kTile = 3, kRows = 44;

    Report() {
        std::memset(&told, 0x11, sizeof told);  // counts may be anything
        told.uid = kUid;
        told.tile = kTile;
        told.programmed_rows = kRows;
        told.level = SIDRA_XBAR_PULSED;
        told.stuck_cells = 65536;
        told.spare_columns = 256;
        told.bad_cells = 65536;
        told.error_ppm = told.drift_ppm = 1'000'000;
    }
    int vet(sidra_hw_xbar_report* report) const { return sidra_report_vet(report, kUid, kTile, kRows); }

    sidra_hw_xbar_report told;
};

TEST_F(Report, IsHandedOnButWhatIsNotKnown) {
    sidra_hw_xbar_report report = told, expected = told;
    std::memset(expected.reserved0, 0, sizeof expected.reserved0);
    std::memset(expected.reserved1, 0, sizeof expected.reserved1);
    EXPECT_EQ(vet(&report), 0);
    EXPECT_EQ(std::memcmp(&report, &expected, sizeof report), 0);
}

TEST_F(Report, WhatCannotBeIsAnError) {
    const std::function<void(sidra_hw_xbar_report&)> lies[] = {
        [](auto& r) { r.level = 2; },
        [](auto& r) { r.stuck_cells = 65537; },
        [](auto& r) { r.tile = kTile + 1; },
        [](auto& r) { r.programmed_rows = kRows + 1; },
        [](auto& r) { r.spare_columns = 257; },
        [](auto& r) { r.bad_cells = 65537; },
        [](auto& r) { r.error_ppm = 1'000'001; },
        [](auto& r) { r.drift_ppm = 1'000'001; },
    };
    for (size_t i = 0; i < std::size(lies); i++) {
        sidra_hw_xbar_report report = told;
        lies[i](report);
        EXPECT_EQ(vet(&report), -EIO) << i;
    }
}

// The owner of the last programming and its cost are not disclosed to others.
TEST_F(Report, OfAnotherObjectHasTheCrossbarOnly) {
    for (const u64 uid : {u64{0}, kUid + 1, ~u64{0}}) {
        sidra_hw_xbar_report report = told, expected{};
        report.uid = uid;
        report.tile = ~0u;
        report.error_ppm = ~0u;
        expected.programs = told.programs;
        expected.level = told.level;
        expected.stuck_cells = told.stuck_cells;
        EXPECT_EQ(vet(&report), 0);
        EXPECT_EQ(std::memcmp(&report, &expected, sizeof report), 0);
    }
    sidra_hw_xbar_report report = told;
    report.uid = 0;
    report.level = 0xffff;
    EXPECT_EQ(vet(&report), -EIO);
}

}  // namespace
}  // namespace sidra::test
