// SPDX-License-Identifier: MIT
// Inspection of programmed cells, and pulsing those again that have drifted. The expected deviations are computed from
// the conductances themselves and from the law of drift.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "array.h"
#include "bench.h"

namespace sidra::chip_test {
namespace {

using chip::Analog;
using chip::Array;
using chip::CellCheck;
using chip::CellProgrammer;
using chip::Cost;
using chip::CrossbarCells;
using chip::TileBlock;

constexpr uint32_t kXbar = 3, kRows = 100, kCols = 60;
constexpr double kTolerance = 0.03;                    // of G_max
constexpr double kTenYears = 10 * 365.25 * 24 * 3600;  // of the cells' clock: a tenth of the conductance
constexpr double kReads = 5 * 0.005 / 2 + 1.1 / 255;   // error of a read: noise of four, a step of the ADC

struct Crossbars {
    explicit Crossbars(bool accurate, double stuck = 0)
        : array(chip::kGeometrySmall, *engine::find(SIDRA_CHIP_ENGINE_SCALAR),
                accurate ? std::make_unique<Analog>(chip::kGeometrySmall.xbars(), stuck, 7) : nullptr) {}
    Cost program() {
        std::mt19937 random(5);
        std::vector<int8_t> weights(kRows * kCols);
        for (int8_t& each : weights) each = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        Cost spent;
        EXPECT_FALSE(array.program(kBlock, weights.data(), kCols, 0, &spent));
        return spent;
    }
    // For each used cell: its deviation from its target when this fraction of its conductance is left.
    std::vector<double> errors(double left) const {
        const CrossbarCells content = array.analog()->copy(kXbar);
        Array::Image image;
        std::vector<uint8_t> levels(chip::kXbarCells);
        EXPECT_TRUE(array.image(kXbar, &image, levels.data()));
        std::vector<double> result;
        for (uint32_t row = 0; row < kRows; row++)
            for (uint32_t column = 0; column < 2 * kCols; column++) {
                const uint32_t at = row * 256 + column;
                result.push_back(std::fabs(content.g[at] / 32768.0 * left - (0.01 + 0.99 * levels[at] / 255)));
            }
        return result;
    }
    static constexpr TileBlock kBlock{77, kXbar, 0, SIDRA_ENCODING_DIFFERENTIAL, kRows, kCols, 0, kRows, 0, kCols};
    Array array;
};

uint64_t above(const std::vector<double>& errors, double bound) {
    return static_cast<uint64_t>(std::count_if(errors.begin(), errors.end(), [&](double e) { return e > bound; }));
}

TEST(Refresh, FindsWhatHasDriftedAndPulsesOnlyThat) {
    Crossbars it(true);
    it.program();
    CellCheck found;
    ASSERT_FALSE(it.array.verify(Crossbars::kBlock, kTolerance, 0, &found));
    EXPECT_EQ(found.cells, 2u * kRows * kCols) << "and no column that is not in use";
    EXPECT_LE(found.off, above(it.errors(1), kTolerance - kReads));
    EXPECT_LT(found.off, found.cells / 100);
    EXPECT_EQ(found.pulses + found.failed, 0u);
    EXPECT_EQ(found.cost.device_ps, kRows * 60'000u) << "rows one after the other, four reads of 15 ns";

    const double left = 0.99 * 0.99 * 0.99 * 0.99 * 0.99 * 0.99 * 0.99 * 0.99 * 0.99 * 0.99;
    const std::vector<double> drifted = it.errors(left);
    ASSERT_FALSE(it.array.verify(Crossbars::kBlock, kTolerance, kTenYears, &found));
    EXPECT_GE(found.off, above(drifted, kTolerance + kReads));
    EXPECT_LE(found.off, above(drifted, kTolerance - kReads));
    EXPECT_GT(found.off, found.cells / 10);
    double sum = 0, worst = 0;
    for (const double each : drifted) sum += each, worst = std::max(worst, each);
    EXPECT_NEAR(found.error_sum / static_cast<double>(found.cells), sum / static_cast<double>(found.cells), 0.001);
    EXPECT_NEAR(found.worst, worst, kReads);

    const CrossbarCells before = it.array.analog()->copy(kXbar);
    CellCheck mended;
    ASSERT_FALSE(it.array.refresh(Crossbars::kBlock, kTolerance, kTenYears, &mended));
    EXPECT_NEAR(static_cast<double>(mended.off), static_cast<double>(found.off), 0.1 * static_cast<double>(found.off))
        << "other noise, the same cells";
    EXPECT_NE(mended.error_sum, found.error_sum) << "the same noise";
    EXPECT_EQ(mended.failed, 0u);
    EXPECT_GE(mended.pulses, mended.off);
    EXPECT_LT(mended.pulses, 15 * mended.off);
    EXPECT_GT(mended.cost.device_ps, found.cost.device_ps);
    EXPECT_GT(mended.cost.energy_pj, found.cost.energy_pj);
    // Cells without deviation are unchanged except for their age.
    const CrossbarCells after = it.array.analog()->copy(kXbar);
    uint64_t moved = 0;
    for (uint32_t i = 0; i < chip::kXbarCells; i++)
        moved += std::fabs(after.g[i] - before.g[i] * left) > 1 + before.g[i] / 65536.0;
    EXPECT_LE(moved, mended.off);
    EXPECT_GT(moved, mended.off * 9 / 10);
    ASSERT_FALSE(it.array.verify(Crossbars::kBlock, kTolerance, kTenYears, &found));
    EXPECT_LT(found.off, mended.off / 10);
    EXPECT_EQ(after.record.programs, 2u);
}

TEST(Refresh, TheSameBitsEachTime) {
    std::vector<uint16_t> first;
    for (int round = 0; round < 2; round++) {
        Crossbars it(true, 0.01);
        it.program();
        CellCheck found;
        ASSERT_FALSE(it.array.refresh(Crossbars::kBlock, 0.02, kTenYears, &found));
        const CrossbarCells content = it.array.analog()->copy(kXbar);
        if (round) EXPECT_EQ(content.g, first);
        first = content.g;
    }
}

TEST(Refresh, SaysHowManyCellsItCannotMend) {
    Crossbars it(true, 0.05);
    CellProgrammer::Policy policy;
    policy.spare = 512;  // no column moves
    it.array.analog()->programmer().set_policy(policy);
    it.program();
    const CrossbarCells content = it.array.analog()->copy(kXbar);
    const std::vector<double> errors = it.errors(1);
    uint64_t surely = 0, maybe = 0;
    for (uint32_t i = 0; i < errors.size(); i++) {
        const auto cell = content.cells[i / (2 * kCols) * 256 + i % (2 * kCols)];
        if (cell == physics::CellState::kFormed) continue;
        surely += errors[i] > kTolerance + kReads;
        maybe += errors[i] > kTolerance - kReads;
    }
    ASSERT_GT(surely, 100u);
    CellCheck found;
    ASSERT_FALSE(it.array.refresh(Crossbars::kBlock, kTolerance, 0, &found));
    EXPECT_GE(found.failed, surely);
    EXPECT_LE(found.failed, maybe);
    EXPECT_GE(found.off, found.failed);
}

TEST(Refresh, ByCrossbarLooksAtTheRowsThatAreThere) {
    Crossbars it(true);
    CellCheck found;
    EXPECT_EQ(it.array.verify(kXbar, kTolerance, 0, &found).cause, SIDRA_FAULT_UNPROGRAMMED);
    std::vector<int8_t> weights(kRows * kCols, 100);
    Cost spent;
    for (const uint32_t row : {10u, 40u}) {
        TileBlock some = Crossbars::kBlock;
        some.row0 = row;
        some.rows = 7;
        ASSERT_FALSE(it.array.program(some, weights.data(), kCols, 0, &spent));
    }
    ASSERT_FALSE(it.array.verify(kXbar, kTolerance, kTenYears, &found));
    EXPECT_EQ(found.cells, 2u * 7 * 2 * kCols);
    ASSERT_FALSE(it.array.refresh(kXbar, kTolerance, kTenYears, &found));
    EXPECT_EQ(found.cells, 2u * 7 * 2 * kCols);
    // A weight of 100 is 200 levels in one cell of a pair and none in the other.
    EXPECT_NEAR(static_cast<double>(found.off), 2 * 7 * kCols, 5);
    TileBlock other = Crossbars::kBlock;
    EXPECT_EQ(it.array.refresh(other, kTolerance, 0, &found).cause, SIDRA_FAULT_UNPROGRAMMED) << "not all rows";
    other.row0 = 10;
    other.rows = 7;
    EXPECT_FALSE(it.array.refresh(other, kTolerance, kTenYears, &found));
    other.uid++;
    EXPECT_EQ(it.array.verify(other, kTolerance, 0, &found).cause, SIDRA_FAULT_UNPROGRAMMED) << "somebody else's";
    EXPECT_EQ(found.cells, 0u);
}

TEST(Refresh, AtLevelFastNothingIsEverOff) {
    Crossbars it(false);
    const Cost none = it.program();
    EXPECT_EQ(none.device_ps, 0u);
    CellCheck found;
    ASSERT_FALSE(it.array.refresh(kXbar, 0, kTenYears, &found));
    EXPECT_EQ(found.cells, 2u * kRows * kCols);
    EXPECT_EQ(found.off + found.failed + found.pulses, 0u);
    EXPECT_EQ(found.cost.device_ps, kRows * 60'000u);
}

}  // namespace
}  // namespace sidra::chip_test
