// SPDX-License-Identifier: MIT
// The cost of programming, tile by tile: on any chip, and on one whose cells are pulsed.
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

class ChipReport : public ChipTest {
   protected:
    sidra_weights* make(uint32_t k, uint32_t n, sidra_weights_encoding encoding, bool program = true) {
        values.resize(size_t{k} * n);
        randomise(std::span(values), -127, 127);
        auto options = SIDRA_INIT(sidra_weights_options);
        options.encoding = encoding;
        sidra_weights* weights = nullptr;
        EXPECT_OK(sidra_weights_create_s8(context, k, n, values.data(), n, nullptr, &options, &weights));
        if (program) {
            EXPECT_OK(sidra_weights_program_async(stream, weights));
            synchronize();
        }
        return weights;
    }
    sidra_tile_report report_of(sidra_weights* weights, uint32_t tile) {
        auto report = SIDRA_INIT(sidra_tile_report);
        EXPECT_OK(sidra_weights_report(weights, tile, &report));
        EXPECT_EQ(sizeof report, report.struct_size);
        return report;
    }
    std::vector<int8_t> values;
};

TEST_F(ChipReport, TilesLieInAGrid) {
    sidra_weights* weights = make(300, 300, SIDRA_WEIGHTS_DIFFERENTIAL, false);
    for (const bool programmed : {false, true}) {
        if (programmed) {
            ASSERT_OK(sidra_weights_program_async(stream, weights));
            synchronize();
        }
        for (uint32_t tile = 0; tile < 6; tile++) {
            const sidra_tile_report report = report_of(weights, tile);
            const uint32_t rows = tile < 3 ? 256 : 44;
            EXPECT_EQ(tile < 3 ? 0u : 256u, report.row);
            EXPECT_EQ(rows, report.rows);
            EXPECT_EQ(tile % 3 * 128, report.col);
            EXPECT_EQ(tile % 3 < 2 ? 128u : 44u, report.cols);
            EXPECT_EQ(programmed ? rows : 0, report.programmed_rows);
            EXPECT_FALSE(report.pulsed);
            EXPECT_EQ(0u, report.reads + report.set_pulses + report.failed + report.device_ps + report.clipped);
        }
    }
    const uint32_t before = report_of(weights, 4).crossbar_programs;
    const int8_t value = 5;
    ASSERT_OK(sidra_weights_update_async(stream, weights, 299, 1, 200, 1, &value, 1));
    synchronize();
    EXPECT_EQ(before + 1, report_of(weights, 4).crossbar_programs);

    auto report = SIDRA_INIT(sidra_tile_report);
    report.rows = 77;
    for (const uint32_t beyond : {6u, UINT32_MAX})
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_report(weights, beyond, &report));
    EXPECT_EQ(77u, report.rows) << "untouched";
    EXPECT_OK(sidra_weights_destroy(weights));
}

// Cells that are pulsed; a node's chip is of level fast.
class PulsedReport : public ChipReport {
   protected:
    void SetUp() override {
        if (on_a_node()) GTEST_SKIP() << "its level is given to QEMU";
        choose_test_device();
        open_chip({.level = SIDRA_LEVEL_ACCURATE, .stuck_ppm = 10'000});
    }
};

TEST_F(PulsedReport, CountsEveryCellOnce) {
    sidra_weights* weights = make(300, 200, SIDRA_WEIGHTS_DIFFERENTIAL);
    auto info = SIDRA_INIT(sidra_weights_info);
    ASSERT_OK(sidra_weights_get_info(weights, &info));
    uint64_t cells = 0, device_ps = 0, energy_pj = 0;
    for (uint32_t tile = 0; tile < info.crossbars; tile++) {
        const sidra_tile_report report = report_of(weights, tile);
        const uint64_t of_tile = uint64_t{report.rows} * report.cols * 2;
        EXPECT_TRUE(report.pulsed);
        EXPECT_EQ(report.rows, report.programmed_rows);
        // Replacement pairs of columns that were tried are counted, too.
        const uint64_t pulsed = std::accumulate(std::begin(report.arrived), std::end(report.arrived), report.failed);
        EXPECT_GE(pulsed, of_tile + uint64_t{report.rows} * report.spare_columns);
        EXPECT_EQ(0u, (pulsed - of_tile) % (2 * report.rows));
        EXPECT_EQ(report.reads, report.set_pulses + report.reset_pulses + pulsed);
        // 1 % of the cells are stuck, half of them low, which is correct for one cell of each pair.
        const double failed = 0.01 * 3 / 4 * static_cast<double>(pulsed);
        EXPECT_NEAR(failed, static_cast<double>(report.failed), 5 * std::sqrt(failed));
        EXPECT_LE(report.bad_cells, report.failed);
        EXPECT_GT(report.error_sigma, 0.002);
        EXPECT_LT(report.error_sigma, 0.006) << "arrived: read within 0.6 % of G_max";
        EXPECT_EQ(0.0, report.drift);
        cells += of_tile;
        device_ps += report.device_ps;
        energy_pj += report.energy_pj;
    }
    EXPECT_EQ(info.cells, cells);
    // Differences are the packet's own share and a picojoule of rounding in each tile.
    EXPECT_NEAR(static_cast<double>(info.program_device_ps), static_cast<double>(device_ps), 1e6);
    EXPECT_NEAR(static_cast<double>(info.program_energy_pj), static_cast<double>(energy_pj), 1000);

    // Public: 1 % a year.
    turn_knob(device, "age-s", 31'557'600);
    const sidra_tile_report old = report_of(weights, 3);
    EXPECT_NEAR(0.01, old.drift, 2e-5);
    EXPECT_NEAR(31'557'600.0, static_cast<double>(old.age_s), 2);
    EXPECT_OK(sidra_weights_destroy(weights));
}

}  // namespace
}  // namespace sidra::test
