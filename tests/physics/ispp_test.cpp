// SPDX-License-Identifier: MIT
// Programming of blocks of cells. The expected results of the loops come from tests/physics/ispp_reference.py, written
// independently, with another generator and in double precision.
#include "ispp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sidra::test {
namespace {

using physics::CellParameters;
using physics::CellState;
using physics::InstructionSet;
using physics::Ispp;
using physics::IsppMode;
using physics::IsppParameters;
using physics::IsppTotals;
using physics::Outcome;

constexpr InstructionSet kSets[] = {InstructionSet::kScalar, InstructionSet::kAvx2, InstructionSet::kAvx512,
                                    InstructionSet::kNeon};
constexpr IsppMode kModes[] = {IsppMode::kAsPublished, IsppMode::kStepBack, IsppMode::kErrorSized};

// Cells of one crossbar, formed, and emptied unless they are stuck.
struct Array {
    std::vector<uint8_t> level, tries;
    std::vector<CellState> state;
    std::vector<uint16_t> g;
    std::vector<Outcome> outcome;
    IsppTotals totals{};
    uint32_t retry = 0;

    explicit Array(uint32_t count, CellState all = CellState::kFormed)
        : level(count), tries(count, 99), state(count, all), g(count, 328), outcome(count, Outcome::kFailed) {
        std::mt19937 random(17);
        for (uint8_t& each : level) each = static_cast<uint8_t>(random());
    }
    uint32_t size() const { return static_cast<uint32_t>(g.size()); }
    void program(const Ispp& ispp, uint32_t crossbar = 0, uint32_t count = 0, uint32_t block = physics::kIsppBlock) {
        for (uint32_t at = 0; at < size(); at += block)
            ispp.program({crossbar, at, std::min(block, size() - at), count, &level[at], &state[at], &g[at], &tries[at],
                          &outcome[at], &totals, retry});
    }
    bool operator==(const Array& other) const {
        return tries == other.tries && state == other.state && g == other.g && outcome == other.outcome &&
               std::memcmp(&totals, &other.totals, sizeof totals) == 0;
    }
};

double error_of(const CellParameters& cells, const Array& array, uint32_t i) {
    return static_cast<double>(physics::conductance(array.g[i])) - physics::conductance_of(cells, array.level[i]);
}

TEST(Ispp, TheSameBitsWithEveryInstructionSetAndEveryBlocking) {
    CellParameters cells;
    cells.stuck_low = cells.stuck_high = 0.02;
    int sets = 0;
    for (const IsppMode mode : kModes) {
        Array start(6007, CellState::kFresh);
        physics::form(cells, 8, {5, 0, start.size(), start.g.data(), start.state.data()});
        for (uint32_t i = 0; i < start.size(); i += 97) start.state[i] = CellState::kFresh;
        Array first = start;
        first.program(Ispp(cells, physics::ispp_defaults(mode), 8, InstructionSet::kScalar), 5, 3);
        start.retry = 5;
        Array expected = start;
        expected.program(Ispp(cells, physics::ispp_defaults(mode), 8, InstructionSet::kScalar), 5, 3);
        EXPECT_FALSE(first == expected) << "another try, other noise";
        EXPECT_GT(expected.totals.converged(), 1000u);
        EXPECT_GT(expected.totals.failed, 10u);
        for (const InstructionSet set : kSets) {
            if (!physics::has(set)) {
                EXPECT_THROW(Ispp(cells, physics::ispp_defaults(mode), 8, set), std::invalid_argument);
                continue;
            }
            sets++;
            const Ispp ispp(cells, physics::ispp_defaults(mode), 8, set);
            for (const uint32_t block : {2048u, 1000u, 333u, 17u, 1u}) {
                Array found = start;
                found.program(ispp, 5, 3, block);
                ASSERT_TRUE(found == expected) << static_cast<int>(set) << " in blocks of " << block;
            }
        }
    }
    EXPECT_GE(sets, 2 * 3);
}

// The blocks of a crossbar on three threads in reverse order, with separate totals that are added up: the result is the
// same.
TEST(Ispp, TheSameBitsOnThreads) {
    const Ispp ispp(CellParameters(), IsppParameters(), 5);
    Array expected(20000), found(20000);
    expected.program(ispp, 2, 1);
    IsppTotals totals[3]{};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (uint32_t block = 20; block-- > 0;) {
                if (block % 3 != t) continue;
                const uint32_t at = block * 1000;
                ispp.program({2, at, 1000, 1, &found.level[at], &found.state[at], &found.g[at], &found.tries[at],
                              &found.outcome[at], &totals[t]});
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const IsppTotals& each : totals) found.totals.add(each);
    EXPECT_TRUE(found == expected);
}

TEST(Ispp, TheSameBitsWithOtherParameters) {
    std::mt19937 random(23);
    const auto real = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int round = 0; round < 60; round++) {
        CellParameters cells;
        cells.on_off = real(2, 1000);
        cells.set_step = std::exp(real(-9, 4));
        cells.saturation = round % 5 == 0 ? 0 : real(0, 0.95);
        cells.cycle_spread = round % 3 == 0 ? 0 : real(0, 2);
        cells.device_spread = round % 4 == 0 ? 0 : real(0, 2);
        cells.g_max_siemens = std::exp(real(-20, -5));
        IsppParameters parameters = physics::ispp_defaults(kModes[round % 3]);
        parameters.tolerance = real(0.005, 0.1);
        parameters.max_tries = static_cast<uint32_t>(real(0, 64.9));
        parameters.adc_bits = static_cast<uint32_t>(real(0, 16.9));
        parameters.read_sigma = round % 7 == 0 ? 0 : real(0, 0.2);
        parameters.gain = real(0.1, 2);
        parameters.width_step_ns = std::exp(real(-4, 4));
        Array start(777);
        for (uint16_t& g : start.g)
            g = static_cast<uint16_t>(random());  // also values that only relaxation can produce
        for (uint32_t i = 0; i < start.size(); i++)
            start.state[i] = static_cast<CellState>(random() % 16 < 12 ? 1 : i % 4);
        Array expected = start;
        expected.program(Ispp(cells, parameters, round, InstructionSet::kScalar), 1, 2);
        for (const InstructionSet set : kSets) {
            if (!physics::has(set)) continue;
            Array found = start;
            found.program(Ispp(cells, parameters, round, set), 1, 2);
            ASSERT_TRUE(found == expected) << static_cast<int>(set) << " in round " << round;
        }
    }
}

// The bits of one outcome, so that hosts and compilers can be compared: produced on x86-64 by GCC 12, identical with
// clang 14 there and on AArch64. It does not prove correctness; a deliberate change of the model changes it.
TEST(Ispp, TheSameBitsOnEveryHost) {
    const CellParameters cells;
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    const auto add = [&](uint32_t value) { hash = (hash ^ value) * 1099511628211u; };
    for (const IsppMode mode : kModes) {
        Array array(4096, CellState::kFresh);
        const physics::CellRun run{1, 0, array.size(), array.g.data(), array.state.data()};
        physics::form(cells, 99, run);
        array.program(Ispp(cells, physics::ispp_defaults(mode), 99), 1);
        physics::relax(cells, 99, 0, run);
        for (uint32_t i = 0; i < array.size(); i++) add(array.g[i]), add(array.tries[i]);
        add(static_cast<uint32_t>(array.totals.energy_aj));
        add(static_cast<uint32_t>(array.totals.time_ps));
    }
    EXPECT_EQ(hash, 11653077094561573816u);
}

// What ispp_reference.py printed for 1,048,576 cells: NumPy, another generator, double precision.
struct Reference {
    IsppMode mode;
    double tries, tries_sd, converged, within, error, energy, energy_sd, time, time_sd;
    double converged_after[16];
};
const Reference kReference[] = {
    {IsppMode::kAsPublished,
     12.39152,
     4.4753,
     0.322332,
     0.284097,
     0.006465,
     5.65247,
     1.9272,
     986.624,
     339.53,
     {0.012659, 0.019773, 0.021461, 0.025478, 0.025279, 0.028397, 0.028183, 0.030137, 0.026984, 0.018042, 0.012876,
      0.013391, 0.013476, 0.014572, 0.015609, 0.016016}},
    {IsppMode::kStepBack,
     10.34369,
     4.0075,
     0.811269,
     0.800478,
     0.004344,
     4.75806,
     1.7228,
     802.659,
     287.36,
     {0.009056, 0.012266, 0.019637, 0.025828, 0.032095, 0.040556, 0.049062, 0.059405, 0.069231, 0.077587, 0.081563,
      0.081630, 0.075900, 0.068390, 0.059163, 0.049899}},
    {IsppMode::kErrorSized,
     3.55728,
     1.4753,
     0.999998,
     0.993662,
     0.003763,
     2.14629,
     0.7720,
     476.117,
     190.17,
     {0.008818, 0.052677, 0.172943, 0.277302, 0.252068, 0.144941, 0.060274, 0.020779, 0.006867, 0.002168, 0.000758,
      0.000246, 0.000099, 0.000030, 0.000026, 0.000003}},
};

// Means and fractions of both differ by less than five standard errors of their difference; the seed is fixed.
TEST(Ispp, WhatTheReferenceReaches) {
    constexpr double kSigmas = 5, kTheirs = 1 << 20;
    constexpr uint32_t kCrossbars = 4;
    const CellParameters cells;
    for (const Reference& reference : kReference) {
        const Ispp ispp(cells, physics::ispp_defaults(reference.mode), 77);
        IsppTotals totals{};
        double within = 0, count = 0, pulses = 0;
        for (uint32_t crossbar = 0; crossbar < kCrossbars; crossbar++) {
            Array array(65536);
            std::mt19937 random(crossbar);
            for (uint8_t& each : array.level) each = static_cast<uint8_t>(random());
            array.program(ispp, crossbar);
            totals.add(array.totals);
            for (uint32_t i = 0; i < array.size(); i++) {
                within += array.outcome[i] == Outcome::kConverged && std::fabs(error_of(cells, array, i)) < 0.01;
                pulses += array.tries[i];
                count++;
            }
        }
        const double scale = kSigmas * std::sqrt(1 / count + 1 / kTheirs);
        const auto share = [&](double found, double expected, const std::string& what) {
            // At least the deviation of one cell, where the reference has almost none.
            const double variance = std::max(expected * (1 - expected), 4 / kTheirs);
            EXPECT_NEAR(found / count, expected, scale * std::sqrt(variance)) << what << ' ' << reference.tries;
        };
        share(static_cast<double>(totals.converged()), reference.converged, "converged");
        share(within, reference.within, "within the tolerance");
        for (uint32_t n = 0; n <= 15; n++)
            share(static_cast<double>(totals.converged_after[n]), reference.converged_after[n], std::to_string(n));
        EXPECT_NEAR(totals.mean_tries(), reference.tries, scale * reference.tries_sd);
        EXPECT_NEAR(totals.energy_pj() / count, reference.energy, scale * reference.energy_sd);
        EXPECT_NEAR(totals.time_ns() / count, reference.time, scale * reference.time_sd);
        // The relative standard error of a standard deviation is 1/sqrt(2n) for a normal distribution; here the tails
        // are shorter.
        EXPECT_NEAR(totals.error_sigma() / reference.error, 1, scale * std::sqrt(0.5 / reference.converged));
        // The sums agree with those of the single cells.
        EXPECT_EQ(pulses, static_cast<double>(totals.set_pulses + totals.reset_pulses));
        EXPECT_EQ(totals.reads, totals.set_pulses + totals.reset_pulses + static_cast<uint64_t>(count));
        EXPECT_EQ(totals.converged() + totals.failed, static_cast<uint64_t>(count));
    }
}

// The largest doses that parameters allow move no stuck cell, and no other cell out of its range.
TEST(Ispp, ExtremeDosesStayNumbers) {
    for (const double step : {1e-6, 100.0})
        for (const IsppMode mode : kModes) {
            CellParameters cells;
            cells.set_step = cells.reset_step = step;
            cells.set_ns = cells.reset_ns = step > 1 ? 0.01 : 1e6;
            cells.set_volts = cells.reset_volts = 0.01;
            cells.set_slope_volts = cells.reset_slope_volts = 0.001;
            cells.cycle_spread = cells.device_spread = 2;
            IsppParameters parameters = physics::ispp_defaults(mode);
            parameters.step_volts = 1;
            parameters.max_volts = parameters.fine_reset_volts = 10;
            parameters.max_width_ns = 1e5;
            if (mode == IsppMode::kStepBack) parameters.fine_reset_volts = step > 1 ? 0.01 : 0.05;
            for (const InstructionSet set : kSets) {
                if (!physics::has(set)) continue;
                Array array(500);
                array.state[3] = CellState::kStuckLow;
                try {
                    array.program(Ispp(cells, parameters, 1, set));
                } catch (const std::invalid_argument& error) {
                    EXPECT_EQ(std::string(error.what()).find("back_step"), 0u) << error.what();
                    continue;
                }
                EXPECT_EQ(array.g[3], 328);
                for (const uint16_t g : array.g) ASSERT_TRUE(g >= 328 && g <= 32768) << g;
            }
        }
}

TEST(Ispp, SizedPulsesBringHealthyCellsHome) {
    const CellParameters cells;
    Array array(65536, CellState::kFresh);
    physics::form(cells, 4, {2, 0, array.size(), array.g.data(), array.state.data()});
    array.program(Ispp(cells, IsppParameters(), 4), 2);
    double healthy = 0, home = 0;
    for (uint32_t i = 0; i < array.size(); i++) {
        if (array.state[i] != CellState::kFormed) continue;
        healthy++;
        home += array.outcome[i] == Outcome::kConverged && array.tries[i] <= 15 &&
                std::fabs(error_of(cells, array, i)) < 0.01;
    }
    EXPECT_GE(home, 0.99 * healthy);
}

TEST(Ispp, StuckCellsNeverMoveAndAreReported) {
    const CellParameters cells;
    for (const IsppMode mode : kModes) {
        Array array(1000, CellState::kStuckHigh);
        for (uint32_t i = 0; i < 500; i++) array.state[i] = CellState::kStuckLow;
        for (uint32_t i = 500; i < 1000; i++) array.g[i] = 32768;
        const auto before = array.g;
        for (uint8_t& level : array.level)
            level = static_cast<uint8_t>(20 + level % 200);  // no level at which cells are stuck
        array.program(Ispp(cells, physics::ispp_defaults(mode), 1));
        EXPECT_EQ(array.g, before);
        EXPECT_EQ(array.totals.stuck, 1000u);
        EXPECT_EQ(array.totals.failed, 1000u);
        for (uint32_t i = 0; i < 1000; i++) {
            ASSERT_EQ(array.outcome[i], Outcome::kFailed);
            ASSERT_EQ(array.tries[i], 15);
        }
        // One that is stuck where it should be is as good as any.
        Array lucky(100, CellState::kStuckLow);
        std::fill(lucky.level.begin(), lucky.level.end(), uint8_t{0});
        lucky.program(Ispp(cells, physics::ispp_defaults(mode), 1));
        EXPECT_GT(lucky.totals.converged(), 90u);
    }
}

TEST(Ispp, FreshCellsAreLeftAlone) {
    Array array(50, CellState::kFresh);
    const auto before = array.g;
    array.program(Ispp(CellParameters(), IsppParameters(), 1));
    EXPECT_EQ(array.g, before);
    EXPECT_EQ(array.totals.not_formed, 50u);
    EXPECT_EQ(array.totals.reads, 0u);
    for (uint32_t i = 0; i < 50; i++) {
        EXPECT_EQ(array.outcome[i], Outcome::kNotFormed);
        EXPECT_EQ(array.tries[i], 0);
    }
}

TEST(Ispp, NoCellsIsNothing) {
    IsppTotals totals{}, none{};
    const Ispp ispp(CellParameters(), IsppParameters(), 1);
    ispp.program({0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &totals});
    EXPECT_EQ(std::memcmp(&totals, &none, sizeof totals), 0);
    EXPECT_EQ(totals.mean_tries(), 0);
    EXPECT_EQ(totals.error_sigma(), 0);
    Array array(2049);
    EXPECT_THROW(array.program(ispp, 0, 0, 4096), std::invalid_argument);
    Array few(1);
    few.retry = physics::kRetries;
    EXPECT_THROW(few.program(ispp), std::invalid_argument);
}

// With every source of variation off, all cells of a level are equal, whatever the seed; and each single source makes
// them differ.
TEST(Ispp, WithoutSourcesNothingIsRandom) {
    CellParameters quiet;
    quiet.cycle_spread = quiet.device_spread = 0;
    for (const IsppMode mode : kModes) {
        IsppParameters parameters = physics::ispp_defaults(mode);
        parameters.read_sigma = 0;
        Array a(4096), b(4096);
        a.program(Ispp(quiet, parameters, 1), 1, 1);
        b.program(Ispp(quiet, parameters, 2), 7, 9);
        EXPECT_TRUE(a == b);
        uint16_t of_level[256] = {};
        for (uint32_t i = 0; i < a.size(); i++) {
            if (of_level[a.level[i]] == 0) of_level[a.level[i]] = a.g[i];
            ASSERT_EQ(a.g[i], of_level[a.level[i]]);
        }
        const auto differs = [&](const CellParameters& cells, const IsppParameters& with) {
            Array c(4096), d(4096);
            c.program(Ispp(cells, with, 1), 1, 1);
            d.program(Ispp(cells, with, 2), 1, 1);
            return c.g != d.g && c.g != a.g;
        };
        CellParameters cycle = quiet, device = quiet;
        cycle.cycle_spread = 0.4;
        device.device_spread = 0.1;
        IsppParameters noisy = parameters;
        noisy.read_sigma = 0.01;
        EXPECT_TRUE(differs(cycle, parameters));
        EXPECT_TRUE(differs(device, parameters));
        EXPECT_TRUE(differs(quiet, noisy));
    }
}

TEST(Ispp, ProgrammingAgainIsAnotherDraw) {
    const Ispp ispp(CellParameters(), IsppParameters(), 1);
    Array a(1000), b(1000), c(1000);
    a.program(ispp, 3, 1);
    b.program(ispp, 3, 2);
    c.program(ispp, 4, 1);
    EXPECT_NE(a.g, b.g);
    EXPECT_NE(a.g, c.g);
    // A cell at its target stays there, except for the effect of noisy reads.
    const auto before = a.g;
    a.program(ispp, 3, 2);
    uint32_t same = 0;
    for (uint32_t i = 0; i < a.size(); i++) same += a.g[i] == before[i];
    EXPECT_GT(same, 700u);
}

// Computed by hand: one cell, no noise, no ADC, window 1. From 0.01 to G_max / 2 by 1.5 V pulses of 10 ns, which add
// 0.03 each.
TEST(Ispp, CostIsThatOfItsPulses) {
    CellParameters cells;
    cells.cycle_spread = cells.device_spread = cells.saturation = 0;
    IsppParameters parameters;
    parameters.read_sigma = 0;
    parameters.adc_bits = 0;
    parameters.reads = 1;
    parameters.gain = 1;
    Array array(1);
    array.level[0] = 126;
    array.program(Ispp(cells, parameters, 1));
    const double from = 328.0 / 32768, to = 0.01 + 0.99 * 126 / 255;
    const double ns = std::round((to - from) / 0.003 * 10) / 10;
    EXPECT_EQ(array.tries[0], 1);
    EXPECT_NEAR(physics::conductance(array.g[0]), from + ns * 0.003, 2e-5);
    EXPECT_EQ(array.totals.set_pulses, 1u);
    EXPECT_EQ(array.totals.reads, 2u);
    EXPECT_NEAR(array.totals.time_ns(), ns + 2 * 15, 1e-3);
    const double joules = 1.5 * 1.5 * ns * 1e-9 * 2e-6 * (2 * from + ns * 0.003) / 2;
    EXPECT_NEAR(array.totals.energy_pj(), joules * 1e12 + 2 * 0.1, 1e-5);
    EXPECT_EQ(array.totals.converged_after[1], 1u);
}

TEST(Ispp, RefusedParametersAreNamed) {
    const auto text = [](auto change) -> std::string {
        IsppParameters parameters;
        change(parameters);
        try {
            Ispp(CellParameters(), parameters, 1);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(text([](IsppParameters&) {}), "accepted");
    EXPECT_EQ(text([](IsppParameters& p) { p.max_tries = 65; }), "max_tries is 65: it must be from 0 to 64");
    EXPECT_EQ(text([](IsppParameters& p) { p.guard = 0.02; }), "guard is 0.02: it must be from 0 to 0.0099");
    EXPECT_EQ(text([](IsppParameters& p) { p.adc_bits = 17; }), "adc_bits is 17: it must be from 0 to 16");
    EXPECT_EQ(text([](IsppParameters& p) { p.reads = 0; }), "reads is 0: it must be from 1 to 1024");
    double IsppParameters::*const all[] = {
        &IsppParameters::tolerance,        &IsppParameters::guard,      &IsppParameters::step_volts,
        &IsppParameters::width_growth,     &IsppParameters::max_volts,  &IsppParameters::max_width_ns,
        &IsppParameters::fine_reset_volts, &IsppParameters::back_step,  &IsppParameters::gain,
        &IsppParameters::width_step_ns,    &IsppParameters::read_sigma, &IsppParameters::adc_full_scale,
        &IsppParameters::read_ns,          &IsppParameters::read_pj};
    for (const auto member : all)
        for (const double bad : {-1e9, 1e9, std::numeric_limits<double>::quiet_NaN()})
            EXPECT_NE(text([&](IsppParameters& p) { p.*member = bad; }), "accepted");
    CellParameters cells;
    cells.set_step = 0;
    EXPECT_THROW(Ispp(cells, IsppParameters(), 1), std::invalid_argument);
}

}  // namespace
}  // namespace sidra::test
