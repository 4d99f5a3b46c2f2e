// SPDX-License-Identifier: MIT
// PROGRAM with REFRESH: a rectangle across several tiles, and the remaining drift inside and outside of it.
#include <algorithm>
#include <random>
#include <vector>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kRows = 300, kCols = 200;  // 2 x 2 tiles of pairs
constexpr uint64_t kTenYears = 315'576'000;   // s: a tenth of the conductance, public

struct Rig {
    explicit Rig(uint32_t level)
        : bench({.level = level, .stuck_ppm = level == SIDRA_CHIP_FAST ? 0 : SIDRA_CHIP_STUCK_NONE}) {
        std::mt19937 random(3);
        for (int8_t& each : values) each = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        run_ok(program(weights, 0, kRows, 0, kCols, context.put(values), kCols));
    }
    uint64_t run_ok(const sidra_cmd& cmd) {
        const uint64_t at = queue.submit(cmd);
        bench.run();
        EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
        EXPECT_EQ(queue.timeline(), queue.next());
        return at;
    }
    std::vector<int8_t> read() {
        const uint64_t at = context.alloc(kRows * kCols);
        run_ok(readback(weights, 0, kRows, 0, kCols, at, kCols));
        return context.get<int8_t>(at, kRows * kCols);
    }
    // Number of weights inside (or outside) a rectangle that differ by a twentieth of the range, which is drift.
    size_t off(uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols, bool inside) {
        const auto now = read();
        size_t count = 0;
        for (uint32_t r = 0; r < kRows; r++)
            for (uint32_t c = 0; c < kCols; c++) {
                const bool within = r - row0 < rows && c - col0 < cols;
                const size_t at = r * kCols + c;
                count += within == inside && std::abs(now[at] - values[at]) > 6;
            }
        return count;
    }

    std::vector<int8_t> values = std::vector<int8_t>(kRows * kCols);
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    uint32_t weights = context.weights(
        {.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_DIFFERENTIAL, .crossbars = {5, 2, 7, 0}});
};

TEST(RefreshPacket, MendsTheRectangleAndNothingElse) {
    Rig rig(SIDRA_CHIP_ACCURATE);
    EXPECT_EQ(rig.off(0, kRows, 0, kCols, true), 0u);
    ASSERT_TRUE(sidra_chip_set_knob(rig.bench.chip(), SIDRA_KNOB_AGE_S, kTenYears));
    const size_t inside = rig.off(200, 90, 100, 60, true), outside = rig.off(200, 90, 100, 60, false);
    EXPECT_GT(inside, 90 * 60 / 10);
    const auto before = rig.bench.reports(0, 8);
    rig.run_ok(refresh(rig.weights, 200, 90, 100, 60));
    EXPECT_LT(rig.off(200, 90, 100, 60, true), inside / 20);
    EXPECT_NEAR(static_cast<double>(rig.off(200, 90, 100, 60, false)), static_cast<double>(outside), 20)
        << "a rounding more: all of a crossbar is stored anew";
    const auto after = rig.bench.reports(0, 8);
    for (const uint32_t xbar : {5u, 2u, 7u, 0u}) {
        EXPECT_GT(after[xbar].set_pulses, before[xbar].set_pulses) << xbar;
        EXPECT_EQ(after[xbar].programmed_rows, before[xbar].programmed_rows);
    }
}

// Cells within the tolerance stay as they are, bit for bit, and a refresh without any deviation makes nothing worse.
TEST(RefreshPacket, ToleratesWhatItIsToldTo) {
    Rig rig(SIDRA_CHIP_ACCURATE);
    ASSERT_TRUE(sidra_chip_set_knob(rig.bench.chip(), SIDRA_KNOB_AGE_S, kTenYears));
    const auto pulses = [&] {
        uint64_t sum = 0;
        for (const auto& report : rig.bench.reports(0, 8)) sum += report.set_pulses + report.reset_pulses;
        return sum;
    };
    const auto old = rig.read();
    const uint64_t before = pulses();
    const uint64_t look = rig.run_ok(refresh(rig.weights, 0, kRows, 0, kCols, 500'000));
    EXPECT_EQ(rig.read(), old);
    EXPECT_EQ(pulses(), before);
    const uint64_t some = rig.run_ok(refresh(rig.weights, 0, kRows, 0, kCols, 60'000));
    const uint64_t with_some = pulses();
    EXPECT_GT(with_some, before);
    rig.run_ok(refresh(rig.weights, 0, kRows, 0, kCols));  // the default, 3 %, is less
    EXPECT_GT(pulses(), with_some);
    // An inspection is four reads of 15 ns per row; adjacent tiles are inspected one after the other.
    EXPECT_GE(rig.queue.report(look).device_ps, 2u * kRows * 60'000);
    EXPECT_LT(rig.queue.report(look).device_ps, 2u * kRows * 60'000 + 1'000'000);
    EXPECT_GT(rig.queue.report(some).device_ps, rig.queue.report(look).device_ps);
}

TEST(RefreshPacket, OfExactCellsCostsALookAndChangesNothing) {
    Rig rig(SIDRA_CHIP_FAST);
    const auto before = rig.bench.reports(0, 8);
    const uint64_t at = rig.run_ok(refresh(rig.weights, 0, kRows, 0, kCols, 1));
    EXPECT_EQ(rig.read(), rig.values);
    EXPECT_EQ(std::memcmp(rig.bench.reports(0, 8).data(), before.data(), sizeof before[0] * 8), 0);
    EXPECT_GT(rig.queue.report(at).device_ps, uint64_t{kRows} * 10'000);
    EXPECT_GT(rig.queue.report(at).energy_pj, 0u);
}

}  // namespace
}  // namespace sidra::chip_test
