// SPDX-License-Identifier: MIT
// PROGRAM and READBACK rectangles, unprogrammed rows, the range of an encoding, and access rights to the contents of a
// crossbar.
#include <algorithm>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kOffset = SIDRA_ENCODING_OFFSET, kDifferential = SIDRA_ENCODING_DIFFERENTIAL;

class Weights : public ::testing::Test {
   protected:
    Bench bench{{.pages = 65536}};
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::mt19937_64 random{3};

    std::vector<int8_t> values(size_t n, bool all = false) {
        std::vector<int8_t> w(n);
        for (int8_t& value : w) {
            value = static_cast<int8_t>(static_cast<int>(random() % (all ? 256 : 255)) - (all ? 128 : 127));
        }
        return w;
    }
    void run_ok(const sidra_cmd& cmd) {
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
    void run_fault(const sidra_cmd& cmd, sidra_fault_cause cause) {
        queue.reset();
        const uint64_t at = queue.submit(cmd);
        bench.run();
        EXPECT_TRUE(faulted(queue, at, cmd, {{cause}}));
        queue.reset();
    }
    std::vector<int8_t> read(uint32_t weights, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols) {
        const uint64_t at = context.alloc(uint64_t{rows} * cols);
        run_ok(readback(weights, row0, rows, col0, cols, at, cols));
        return context.get<int8_t>(at, size_t{rows} * cols);
    }
    sidra_cmd tiny_mvm(uint32_t weights, uint32_t rows, uint32_t cols) {
        return mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, context.alloc(rows), rows,
                   context.alloc(cols * 4), cols * 4);
    }
};

TEST_F(Weights, RandomRectanglesReadBackExactly) {
    for (const uint32_t encoding : {kOffset, kDifferential}) {
        const uint32_t rows = 600, cols = encoding == kOffset ? 500 : 250;  // 3 x 2 tiles
        std::vector<uint32_t> crossbars = {5, 2, 7, 0, 3, 6};
        const uint32_t weights =
            context.weights({.rows = rows, .cols = cols, .encoding = encoding, .crossbars = crossbars});
        std::vector<int8_t> model = values(size_t{rows} * cols, encoding == kOffset);
        run_ok(program(weights, 0, rows, 0, cols, context.put(model), cols));
        for (unsigned round = 0; round < rounds(40); ++round) {
            const auto row0 = static_cast<uint32_t>(random() % rows), col0 = static_cast<uint32_t>(random() % cols);
            const auto n = 1 + static_cast<uint32_t>(random() % (rows - row0)),
                       m = 1 + static_cast<uint32_t>(random() % (cols - col0));
            const uint32_t stride = m + static_cast<uint32_t>(random() % 50);
            const std::vector<int8_t> patch = values(size_t{n} * stride, encoding == kOffset);
            for (uint32_t r = 0; r < n; ++r) {
                std::copy_n(&patch[size_t{r} * stride], m, &model[size_t{row0 + r} * cols + col0]);
            }
            const uint64_t at = context.alloc(patch.size() + kPage) + random() % kPage;
            context.write(at, patch.data(), patch.size());
            run_ok(program(weights, row0, n, col0, m, at, stride));
            const auto r0 = static_cast<uint32_t>(random() % rows), c0 = static_cast<uint32_t>(random() % cols);
            const uint32_t rn = rows - r0, cn = cols - c0;
            const auto got = read(weights, r0, rn, c0, cn);
            for (uint32_t r = 0; r < rn; ++r) {
                ASSERT_TRUE(
                    std::equal(&got[size_t{r} * cn], &got[size_t{r} * cn] + cn, &model[size_t{r0 + r} * cols + c0]))
                    << "row " << r0 + r;
            }
        }
        // The compute path sees the same cells: unit vectors read out rows.
        std::vector<int8_t> unit(size_t{rows} * 3);
        const uint32_t picks[3] = {0, 255, 511};
        for (unsigned b = 0; b < 3; ++b) {
            unit[size_t{b} * rows + picks[b]] = 1;
        }
        const uint64_t out = context.alloc(3 * cols * 4);
        run_ok(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 3, context.put(unit), rows, out,
                   cols * 4));
        const auto sums = context.get<int32_t>(out, size_t{3} * cols);
        for (unsigned b = 0; b < 3; ++b) {
            for (uint32_t c = 0; c < cols; ++c) {
                ASSERT_EQ(sums[b * cols + c], model[size_t{picks[b]} * cols + c]);
            }
        }
    }
}

TEST_F(Weights, ReadbackWritesItsRectangleOnly) {
    const uint32_t weights = context.weights({.rows = 10, .cols = 20});
    const auto model = values(200);
    run_ok(program(weights, 0, 10, 0, 20, context.put(model), 20));
    const uint64_t at = context.put(std::vector<int8_t>(kPage, 99));
    run_ok(readback(weights, 2, 5, 3, 7, at + 100, 33));
    auto want = std::vector<int8_t>(kPage, 99);
    for (uint32_t r = 0; r < 5; ++r) {
        std::copy_n(&model[(2 + r) * 20 + 3], 7, &want[100 + r * 33]);
    }
    EXPECT_EQ(context.get<int8_t>(at, kPage), want);
}

TEST_F(Weights, UnprogrammedUntilEveryRowIsThere) {
    const uint32_t rows = 300, cols = 300;  // 2 x 2 tiles
    const uint32_t weights = context.weights({.rows = rows, .cols = cols});
    const auto model = values(size_t{rows} * cols);
    const uint64_t data = context.put(model);
    run_fault(tiny_mvm(weights, rows, cols), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 0, 256, 0, cols, data, cols));
    EXPECT_EQ(read(weights, 0, 256, 0, 256), [&] {
        std::vector<int8_t> want;
        for (uint32_t r = 0; r < 256; ++r) {
            want.insert(want.end(), &model[r * cols], &model[r * cols] + 256);
        }
        return want;
    }());
    run_fault(tiny_mvm(weights, rows, cols), SIDRA_FAULT_UNPROGRAMMED);
    run_fault(readback(weights, 255, 2, 0, 10, context.alloc(kPage), 10), SIDRA_FAULT_UNPROGRAMMED);
    run_fault(readback(weights, 299, 1, 299, 1, context.alloc(kPage), 10), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 256, 43, 0, cols, data + 256 * cols, cols));
    run_fault(tiny_mvm(weights, rows, cols), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 299, 1, 0, cols, data + 299 * cols, cols));
    run_ok(tiny_mvm(weights, rows, cols));
    EXPECT_EQ(read(weights, 0, rows, 0, cols), model);
}

TEST_F(Weights, NarrowRectanglesNeedProgrammedRows) {
    const uint32_t weights = context.weights({.rows = 10, .cols = 300});  // 1 x 2 tiles
    const uint64_t data = context.put(values(3000));
    run_fault(program(weights, 0, 10, 0, 255, data, 300), SIDRA_FAULT_UNPROGRAMMED);
    run_fault(program(weights, 0, 10, 1, 255, data, 300), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 0, 10, 0, 256, data, 300));
    run_ok(program(weights, 3, 4, 17, 5, data, 300));
    run_fault(program(weights, 0, 10, 256, 43, data, 300), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 0, 5, 256, 44, data, 300));
    run_ok(program(weights, 4, 1, 299, 1, data, 300));
    run_fault(program(weights, 4, 2, 299, 1, data, 300), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 5, 5, 256, 44, data, 300));
    run_ok(tiny_mvm(weights, 10, 300));
}

TEST_F(Weights, DifferentialCannotHoldMinus128) {
    const uint32_t rows = 300, cols = 10;  // 2 x 1 tiles
    const uint32_t weights = context.weights({.rows = rows, .cols = cols, .encoding = kDifferential});
    const auto before = values(size_t{rows} * cols);
    run_ok(program(weights, 0, rows, 0, cols, context.put(before), cols));
    for (const size_t bad : {size_t{0}, size_t{2559}, size_t{2560}, size_t{2999}}) {
        auto next = values(size_t{rows} * cols);
        next[bad] = -128;
        run_fault(program(weights, 0, rows, 0, cols, context.put(next), cols), SIDRA_FAULT_VALUE);
        // Nothing of the tile changed; earlier tiles may have been done.
        const uint32_t first = bad < 2560 ? 0 : 256, count = bad < 2560 ? 256 : rows - 256;
        const auto got = read(weights, first, count, 0, cols);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), before.begin() + first * cols)) << bad;
        run_ok(program(weights, 0, rows, 0, cols, context.put(before), cols));
    }
    // The same value outside of the rectangle does not matter.
    std::vector<int8_t> padded(size_t{rows} * 16, -128);
    for (uint32_t r = 0; r < rows; ++r) {
        std::copy_n(&before[r * cols], cols, &padded[r * 16]);
    }
    run_ok(program(weights, 0, rows, 0, cols, context.put(padded), 16));
    const uint32_t offset = context.weights({.rows = 1, .cols = 1, .encoding = kOffset});
    const std::vector<int8_t> lowest = {-128};
    run_ok(program(offset, 0, 1, 0, 1, context.put(lowest), 1));
    EXPECT_EQ(read(offset, 0, 1, 0, 1), lowest);
}

TEST_F(Weights, AFormerTenantsWeightsCannotBeReadOrUsed) {
    Context& other = bench.context();
    Queue& thief = other.queue();
    const uint32_t mine = context.weights({.rows = 256, .cols = 256, .crossbars = {4}});
    const auto secret = values(65536);
    run_ok(program(mine, 0, 256, 0, 256, context.put(secret), 256));
    const uint32_t theirs = other.weights({.rows = 256, .cols = 256, .crossbars = {4}});
    const uint64_t loot = other.alloc(65536), zeros = other.alloc(256), sums = other.alloc(1024);
    const auto expect_unprogrammed = [&](const sidra_cmd& cmd) {
        const uint64_t at = thief.submit(cmd);
        bench.run();
        EXPECT_TRUE(faulted(thief, at, cmd, {{SIDRA_FAULT_UNPROGRAMMED}}));
        EXPECT_EQ(other.get<int8_t>(loot, 65536), std::vector<int8_t>(65536));
        EXPECT_EQ(other.get<int8_t>(sums, 1024), std::vector<int8_t>(1024));
        thief.reset();
    };
    expect_unprogrammed(readback(theirs, 0, 256, 0, 256, loot, 256));
    expect_unprogrammed(readback(theirs, 7, 1, 9, 1, loot, 256));
    expect_unprogrammed(mvm(static_cast<uint16_t>(theirs), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, zeros, 256, sums, 1024));
    expect_unprogrammed(
        program(theirs, 0, 1, 0, 255, zeros, 255));  // a narrow rectangle would inherit the rest of the row

    // The new owner's first row erases everything: the other rows become inaccessible, and the old owner loses its
    // rows.
    thief.submit(program(theirs, 0, 1, 0, 256, zeros, 256));
    bench.run();
    ASSERT_TRUE(retired(thief));
    thief.reset();
    expect_unprogrammed(readback(theirs, 1, 1, 0, 256, loot, 256));
    expect_unprogrammed(mvm(static_cast<uint16_t>(theirs), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, zeros, 256, sums, 1024));
    run_fault(readback(mine, 0, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_UNPROGRAMMED);
    run_fault(tiny_mvm(mine, 256, 256), SIDRA_FAULT_UNPROGRAMMED);
}

TEST_F(Weights, AnObjectOpenedTwiceSharesItsCells) {
    // Two contexts of one uid: one computes with what the other programs.
    Context& other = bench.context();
    Queue& reader = other.queue();
    const uint32_t mine = context.weights({.rows = 3, .cols = 4, .uid = 4711, .crossbars = {2}});
    const uint32_t theirs =
        other.weights({.rows = 3, .cols = 4, .rights = SIDRA_HW_WEIGHTS_COMPUTE, .uid = 4711, .crossbars = {2}});
    const std::vector<int8_t> w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, x = {1, 10, 100};
    const uint64_t in = other.put(x), out = other.alloc(64);
    for (const int8_t add : {int8_t{0}, int8_t{3}}) {
        auto next = w;
        for (int8_t& value : next) {
            value = static_cast<int8_t>(value + add);
        }
        run_ok(program(mine, 0, 3, 0, 4, context.put(next), 4));
        reader.submit(mvm(static_cast<uint16_t>(theirs), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 3, out, 16));
        bench.run();
        ASSERT_TRUE(retired(reader));
        for (uint32_t c = 0; c < 4; ++c) {
            EXPECT_EQ(other.get<int32_t>(out, 4)[c], next[c] + 10 * next[4 + c] + 100 * next[8 + c]);
        }
    }
}

TEST_F(Weights, CrossbarHeadersTellOwnerPlaceAndWear) {
    const uint32_t weights = context.weights({.rows = 300, .cols = 300, .uid = 0xabcdef, .crossbars = {6, 1, 3, 4}});
    const auto model = values(300 * 300);
    const uint64_t data = context.put(model);
    run_ok(program(weights, 0, 300, 0, 300, data, 300));
    auto headers = bench.xbars(0, 8);
    const uint32_t place[8] = {9, 1, 9, 2, 3, 9, 0, 9};
    for (uint32_t i = 0; i < 8; ++i) {
        if (place[i] == 9) {
            EXPECT_EQ(headers[i].uid, 0u);
            EXPECT_EQ(headers[i].programs, 0u);
        } else {
            EXPECT_EQ(headers[i].uid, 0xabcdefu);
            EXPECT_EQ(headers[i].tile, place[i]);
            EXPECT_EQ(headers[i].programs, 1u);
            EXPECT_EQ(headers[i].programmed_rows, place[i] < 2 ? 256 : 44);
        }
    }
    run_ok(program(weights, 10, 3, 20, 5, data, 300));
    run_ok(program(weights, 250, 20, 0, 300, data, 300));
    headers = bench.xbars(0, 8);
    EXPECT_EQ(headers[6].programs, 3u);
    EXPECT_EQ(headers[1].programs, 2u);
    EXPECT_EQ(headers[3].programs, 2u);
    EXPECT_EQ(headers[6].programmed_rows, 256u);
    EXPECT_EQ(bench.telemetry().xbars_programmed, 4u);

    // Cells survive a reset of the chip.
    sidra_chip_reset(bench.chip());
    bench.run();
    bench.enable();
    queue.reset();
    auto now = model;
    for (uint32_t r = 0; r < 3; ++r) {
        std::copy_n(&model[r * 300], 5, &now[(10 + r) * 300 + 20]);
    }
    for (uint32_t r = 0; r < 20; ++r) {
        std::copy_n(&model[r * 300], 300, &now[(250 + r) * 300]);
    }
    EXPECT_EQ(read(weights, 0, 300, 0, 300), now);

    // Erased ones do not.
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 3, 2), uint32_t{SIDRA_ADMIN_OK});
    headers = bench.xbars(0, 8);
    EXPECT_EQ(headers[3].uid, 0u);
    EXPECT_EQ(headers[4].uid, 0u);
    EXPECT_EQ(headers[3].programmed_rows, 0u);
    EXPECT_EQ(headers[1].uid, 0xabcdefu);
    EXPECT_GE(headers[3].programs, 2u) << "wear stays";
    EXPECT_EQ(bench.telemetry().xbars_programmed, 2u);
    run_fault(tiny_mvm(weights, 300, 300), SIDRA_FAULT_UNPROGRAMMED);
    run_fault(readback(weights, 299, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_UNPROGRAMMED);
    run_ok(program(weights, 0, 300, 0, 300, data, 300));
    EXPECT_EQ(read(weights, 0, 300, 0, 300), model);
}

TEST_F(Weights, ReportsOfExactCellsSayWhoseTheyAre) {
    const uint32_t weights = context.weights({.rows = 300, .cols = 300, .uid = 0xabcdef, .crossbars = {6, 1, 3, 4}});
    run_ok(program(weights, 0, 300, 0, 300, context.put(values(300 * 300)), 300));
    const uint64_t row = context.put(values(300));
    run_ok(program(weights, 299, 1, 0, 300, row, 300));
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, uint64_t{3} << 32 | 255));
    const auto reports = bench.reports(0, 8);
    for (const auto& [xbar, tile, programs, rows, stuck] :
         {std::array{6u, 0u, 1u, 256u, 0u}, {1u, 1u, 1u, 256u, 0u}, {3u, 2u, 2u, 44u, 1u}, {4u, 3u, 2u, 44u, 0u}}) {
        sidra_hw_xbar_report expected{};
        expected.uid = 0xabcdef;
        expected.tile = tile;
        expected.programs = programs;
        expected.programmed_rows = static_cast<uint16_t>(rows);
        expected.stuck_cells = stuck;
        EXPECT_EQ(std::memcmp(&reports[xbar], &expected, sizeof expected), 0) << xbar;
    }
    EXPECT_EQ(reports[0].uid, 0u);
}

TEST_F(Weights, EncodingsOverTheSameCrossbar) {
    const uint32_t offset = context.weights({.rows = 256, .cols = 256, .encoding = kOffset, .crossbars = {0}});
    const uint32_t pairs = context.weights({.rows = 256, .cols = 128, .encoding = kDifferential, .crossbars = {0}});
    for (unsigned round = 0; round < 3; ++round) {
        const auto a = values(65536, true), b = values(32768);
        run_ok(program(offset, 0, 256, 0, 256, context.put(a), 256));
        EXPECT_EQ(read(offset, 0, 256, 0, 256), a);
        run_fault(readback(pairs, 0, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_UNPROGRAMMED);
        run_ok(program(pairs, 0, 256, 0, 128, context.put(b), 128));
        EXPECT_EQ(read(pairs, 0, 256, 0, 128), b);
        run_fault(readback(offset, 0, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_UNPROGRAMMED);
    }
}

TEST_F(Weights, AnEntryThatIsTakenAwayIsGoneAfterQuiesce) {
    const uint32_t weights = context.weights({.rows = 4, .cols = 4});
    run_ok(program(weights, 0, 4, 0, 4, context.put(values(16)), 4));
    run_ok(tiny_mvm(weights, 4, 4));
    sidra_hw_weights entry = context.weights_entry(weights);
    entry.flags = 0;
    context.store_weights_entry(weights, entry);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), weights), uint32_t{SIDRA_ADMIN_OK});
    // The list may be freed now: the chip must not read it again.
    bench.bus().set_access(entry.tiles, 64, Access::kRevoked);
    run_fault(tiny_mvm(weights, 4, 4), SIDRA_FAULT_WEIGHTS);
    run_fault(readback(weights, 0, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_WEIGHTS);
}

TEST_F(Weights, AFaultMidwayLeavesEarlierTilesAndSaysSo) {
    const uint32_t weights = context.weights({.rows = 768, .cols = 256});  // 3 x 1 tiles
    const auto model = values(768 * 256);
    const uint64_t data = context.alloc(512 * 256);  // the third tile's data is not mapped
    context.write(data, model.data(), 512 * 256);
    const uint64_t before = queue.state().progress;
    const sidra_cmd cmd = program(weights, 0, 768, 0, 256, data, 256);
    const uint64_t at = queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(faulted(queue, at, cmd, {{SIDRA_FAULT_TRANSLATION}}, data + 512 * 256));
    EXPECT_GT(queue.state().progress, before);
    queue.reset();
    const auto got = read(weights, 0, 512, 0, 256);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), model.begin()));
    run_fault(readback(weights, 512, 1, 0, 1, context.alloc(kPage), 1), SIDRA_FAULT_UNPROGRAMMED);
}

}  // namespace
}  // namespace sidra::chip_test
