// SPDX-License-Identifier: MIT
// Which values of a chip's programming report the driver accepts.
#include <cstring>
#include <functional>
#include <iterator>
#include <type_traits>

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

TEST_F(Report, IsTranslatedFieldByField) {
    sidra_hw_xbar_report report = told;
    EXPECT_EQ(vet(&report), 0);
    EXPECT_EQ(std::memcmp(&report, &told, sizeof report), 0);
    // Every field has a value of its own.
    uint64_t next = 1;
    const auto number = [&](auto& field) { field = static_cast<std::remove_reference_t<decltype(field)>>(next++); };
    number(report.programs), number(report.level), number(report.programmed_rows), number(report.stuck_cells);
    number(report.spare_columns), number(report.error_ppm), number(report.drift_ppm), number(report.bad_cells);
    number(report.age_s), number(report.failed), number(report.recovered), number(report.set_pulses);
    number(report.reset_pulses), number(report.reads), number(report.device_ps), number(report.energy_pj);
    number(report.clipped), number(report.adc_range);
    for (uint64_t& count : report.arrived) number(count);
    sidra_weights_tile tile;
    sidra_report_translate(&report, &tile);
    const uint64_t first[] = {
        tile.programs,     tile.level,     tile.programmed_rows, tile.stuck_cells, tile.spare_columns, tile.error_ppm,
        tile.drift_ppm,    tile.bad_cells, tile.age_s,           tile.failed,      tile.recovered,     tile.set_pulses,
        tile.reset_pulses, tile.reads,     tile.device_ps,       tile.energy_pj,   tile.clipped,       tile.adc_range};
    uint64_t expected = 1;
    for (const uint64_t value : first) EXPECT_EQ(value, expected++);
    for (const uint64_t value : tile.arrived) EXPECT_EQ(value, expected++);
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
