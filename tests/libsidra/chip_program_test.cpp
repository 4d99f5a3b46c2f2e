// SPDX-License-Identifier: MIT
// Programming that is interrupted, and reprogramming of drifted cells.
#include <unistd.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = 2048, kCols = 256, kTiles = 8;  // all of a small chip

class ChipProgram : public ChipTest {
   protected:
    static std::vector<int8_t> filled(int8_t value) { return std::vector<int8_t>(size_t{kRows} * kCols, value); }
    sidra_weights* make(int8_t value) {
        const auto values = filled(value);
        auto options = SIDRA_INIT(sidra_weights_options);
        options.encoding = SIDRA_WEIGHTS_OFFSET;
        sidra_weights* weights = nullptr;
        EXPECT_OK(sidra_weights_create_s8(context, kRows, kCols, values.data(), kCols, nullptr, &options, &weights));
        return weights;
    }
    sidra_tile_report report_of(sidra_weights* weights, uint32_t tile) {
        auto report = SIDRA_INIT(sidra_tile_report);
        EXPECT_OK(sidra_weights_report(weights, tile, &report));
        return report;
    }
    // Waits until some of it is programmed, or all.
    uint32_t begun(sidra_weights* weights) {
        uint32_t done = 0, total = 0;
        while (done == 0) EXPECT_OK(sidra_weights_progress(weights, &done, &total));
        EXPECT_EQ(kRows, total);
        return done;
    }
    std::vector<int8_t> read(sidra_weights* weights) {
        std::vector<int8_t> values(size_t{kRows} * kCols);
        EXPECT_OK(sidra_weights_read(stream, weights, values.data(), kCols, soon()));
        return values;
    }
    // Replaces the chip by one of level `accurate`, whose cells are programmed by pulses.
    void open_accurate() {
        ChipTest::TearDown();
        open_chip({.level = SIDRA_LEVEL_ACCURATE, .stuck_ppm = SIDRA_STUCK_NONE, .workers = 1});
    }
};

// A reset that comes after the end of the programming is repeated. (Exact cells in a virtual machine are always
// faster.)
TEST_F(ChipProgram, AResetEndsAFirstProgrammingBetweenTiles) {
    if (!on_a_node()) open_accurate();  // takes longer
    bool cut = false;
    for (int attempt = 0; attempt < 50 && !cut; attempt++) {
        sidra_weights* weights = make(5);
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        begun(weights);
        ASSERT_OK(sidra_stream_reset(stream));
        uint32_t done = 0, total = 0, tiles = 0;
        ASSERT_OK(sidra_weights_progress(weights, &done, &total));
        for (uint32_t tile = 0; tile < kTiles; tile++) {
            const sidra_tile_report report = report_of(weights, tile);
            EXPECT_TRUE(report.programmed_rows == 0 || report.programmed_rows == report.rows) << tile;
            tiles += report.programmed_rows == report.rows;
        }
        EXPECT_EQ(256 * tiles, done) << "nothing goes on after the reset";
        cut = tiles < kTiles;
        if (cut) {
            std::vector<int8_t> values(size_t{kRows} * kCols);
            EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_weights_read(stream, weights, values.data(), kCols, soon()));
            auto fault = SIDRA_INIT(sidra_fault_info);
            EXPECT_OK(sidra_stream_fault(stream, &fault));
            EXPECT_EQ(uint32_t{SIDRA_FAULT_UNPROGRAMMED}, fault.cause);
            ASSERT_OK(sidra_stream_reset(stream));
            // The values are still stored.
            ASSERT_OK(sidra_weights_program_async(stream, weights));
            synchronize();
            size_t off = 0;
            for (const int8_t value : read(weights)) off += std::abs(value - 5) > 12;
            EXPECT_EQ(0u, off);
        }
        EXPECT_OK(sidra_weights_destroy(weights));
    }
    EXPECT_TRUE(cut || on_a_node());
}

TEST_F(ChipProgram, AResetLeavesOldOrNewContentOfEachTile) {
    if (!on_a_node()) open_accurate();
    int8_t old = -50, fresh = 50;
    sidra_weights* weights = make(old);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    bool cut = false;
    for (int attempt = 0; attempt < 50 && !cut; attempt++) {
        const uint32_t before = report_of(weights, 0).crossbar_programs;
        const auto values = filled(fresh);
        ASSERT_OK(sidra_weights_update_async(stream, weights, 0, kRows, 0, kCols, values.data(), kCols));
        while (report_of(weights, 0).crossbar_programs == before) {
        }
        ASSERT_OK(sidra_stream_reset(stream));
        const auto got = read(weights);
        uint32_t updated = 0;
        for (uint32_t tile = 0; tile < kTiles; tile++) {
            const size_t begin = size_t{tile} * 256 * kCols;
            const int8_t whole = std::abs(got[begin] - fresh) < 50 ? fresh : old;
            size_t off = 0;
            for (size_t i = begin; i < begin + size_t{256} * kCols; i++) off += std::abs(got[i] - whole) > 12;
            EXPECT_EQ(0u, off) << tile;
            updated += whole == fresh;
        }
        EXPECT_GE(updated, 1u);
        cut = updated < kTiles;
        // Whatever it was cut to, the next attempt begins with one content.
        ASSERT_OK(sidra_weights_update_async(stream, weights, 0, kRows, 0, kCols, values.data(), kCols));
        synchronize();
        std::swap(old, fresh);
    }
    EXPECT_TRUE(cut || on_a_node());
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipProgram, RefreshChangesNothingOfExactCells) {
    sidra_weights* weights = make(5);
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_weights_refresh_async(stream, weights, 0));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    for (const float bad :
         {-0.01f, 1.01f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_refresh_async(stream, weights, bad));
    ASSERT_OK(sidra_weights_refresh_async(stream, weights, 0));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_weights_refresh_async(stream, weights, 1));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(filled(5), read(weights));
    EXPECT_OK(sidra_graph_destroy(graph));

    int fd = -1;
    sidra_weights* others = nullptr;
    ASSERT_OK(sidra_weights_export(weights, true, &fd));
    ASSERT_OK(sidra_weights_import(context, fd, &others));
    close(fd);
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_refresh_async(stream, others, 0));
    EXPECT_OK(sidra_weights_destroy(others));
    EXPECT_OK(sidra_weights_destroy(weights));
}

// Products of 64 vectors.
class ChipCalibration : public ChipProgram {
   protected:
    static constexpr uint32_t kBatch = 64;
    using Multiply = decltype(&sidra_mvm_async);
    sidra_mvm product(const Buffer& in, const Buffer& out) {
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = kBatch;
        mvm.in_type = SIDRA_U8;
        mvm.out_type = SIDRA_S32;
        mvm.in = in.at();
        mvm.out = out.at();
        return mvm;
    }
    std::vector<int32_t> run(sidra_weights* weights, const Buffer& in, Multiply multiply) {
        const Buffer out(context, size_t{kBatch} * kCols * 4);
        const sidra_mvm mvm = product(in, out);
        EXPECT_OK(multiply(stream, weights, &mvm));
        synchronize();
        const auto sums = out.as<int32_t>();
        return {sums.begin(), sums.end()};
    }
};

TEST_F(ChipCalibration, IsAProductOfExactCells) {
    sidra_weights* weights = make(5);
    {
        const Buffer in(context, size_t{kBatch} * kRows), out(context, size_t{kBatch} * kCols * 4);
        randomise(in.as(), 0, 255);
        auto mvm = product(in, out);
        EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_weights_calibrate_async(stream, weights, &mvm));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        mvm.batch = 0;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_calibrate_async(stream, weights, &mvm));
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_calibrate_async(stream, weights, nullptr));
        const auto exact = run(weights, in, sidra_mvm_async);
        EXPECT_EQ(exact, run(weights, in, sidra_weights_calibrate_async));
        EXPECT_EQ(exact, run(weights, in, sidra_mvm_async));
        EXPECT_EQ(0u, report_of(weights, 0).adc_range);

        int fd = -1;
        sidra_weights* others = nullptr;
        ASSERT_OK(sidra_weights_export(weights, true, &fd));
        ASSERT_OK(sidra_weights_import(context, fd, &others));
        close(fd);
        mvm.batch = kBatch;
        EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_calibrate_async(stream, others, &mvm));
        EXPECT_OK(sidra_weights_destroy(others));
    }
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipCalibration, SetsTheRangesOfEachTile) {
    if (on_a_node()) GTEST_SKIP() << "its level is given to QEMU";
    open_accurate();
    sidra_weights* weights = make(100);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    {
        const Buffer in(context, size_t{kBatch} * kRows);
        for (size_t i = 0; i < in.as().size(); i++) in.as()[i] = i % kRows / 256 == 3 ? 200 : 20;
        run(weights, in, sidra_mvm_async);
        EXPECT_EQ(0u, report_of(weights, 3).adc_range);
        // Recorded, too.
        const Buffer out(context, size_t{kBatch} * kCols * 4);
        const auto mvm = product(in, out);
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(sidra_weights_calibrate_async(stream, weights, &mvm));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        EXPECT_OK(sidra_graph_destroy(graph));
        for (uint32_t tile = 0; tile < kTiles; tile++) {
            const double input = tile == 3 ? 200 : 20, sum = 256 * 100 * input;
            EXPECT_GT(static_cast<double>(report_of(weights, tile).adc_range), 0.8 * sum) << tile;
            EXPECT_LT(static_cast<double>(report_of(weights, tile).adc_range), 1.3 * sum) << tile;
        }
        for (uint8_t& each : in.as()) each = 200;
        run(weights, in, sidra_mvm_async);
        EXPECT_EQ(0u, report_of(weights, 3).clipped);
        EXPECT_EQ(kBatch * kCols, report_of(weights, 4).clipped) << "ten times what was to be expected";
    }
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipProgram, RefreshBringsBackWhatHasDrifted) {
    if (on_a_node()) GTEST_SKIP() << "its level is given to QEMU";
    open_accurate();
    sidra_weights* weights = make(100);  // conducts 0.9 of G_max
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    const auto mean = [&] {
        double sum = 0;
        for (const int8_t value : read(weights)) sum += value;
        return sum / (double{kRows} * kCols);
    };
    EXPECT_NEAR(100, mean(), 0.5);
    turn_knob(device, "age-s", 315'576'000);  // ten years: 9.6 %, public; of 228 + 2.6 levels
    const double old = 100 - 0.0956 * 230.6;
    EXPECT_NEAR(old, mean(), 0.5);
    ASSERT_OK(sidra_weights_refresh_async(stream, weights, 0.5f));
    EXPECT_NEAR(old, mean(), 0.5) << "that is tolerated";
    ASSERT_OK(sidra_weights_refresh_async(stream, weights, 0));
    EXPECT_NEAR(100, mean(), 0.5);
    EXPECT_OK(sidra_weights_destroy(weights));
}

}  // namespace
}  // namespace sidra::test
