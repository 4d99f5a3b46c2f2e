// SPDX-License-Identifier: MIT
// Sensors, clock and telemetry, as firmware sees them, and the comparator that acts alone.
#include <cmath>
#include <random>

#include "bench.h"

namespace sidra::test {
namespace {

using management::Power;

constexpr uint64_t kMs = 1'000'000, kSecond = 1'000 * kMs;  // ns
constexpr uint32_t kIdleMw = 250;                           // leakage and clock tree, at the nominal clock

class Sensors : public testing::Test {
   protected:
    // With queues that draw `mw` in addition to the chip's idle power.
    bool pass(uint64_t ns, uint64_t mw = 0) {
        queues_pj += mw * ns;
        now += ns;
        return bench.unit.power().advance(now, queues_pj);
    }
    int32_t temperature() { return static_cast<int32_t>(bench.get(SIDRA_MGMT_SENSOR_TEMPERATURE)); }

    Bench bench;
    uint64_t now = 0, queues_pj = 0;
};

TEST_F(Sensors, BeginAtRest) {
    EXPECT_EQ(temperature(), 60'000);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_POWER), kIdleMw);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_ENERGY), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_TRIPPED), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_LEVEL), 3u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_KHZ), 1'000'000u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_MILLIVOLT), 1'000u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_THROTTLED), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TELEMETRY_VALID), 0u);
}

// The equation integrated in small steps: dT/dt = (around + R P - T) / tau.
TEST_F(Sensors, WarmthFollowsItsEquation) {
    constexpr double kStep = 1e-5, kTau = 2, kKelvinPerWatt = 5, kAround = 60;
    double expected = kAround;
    for (const auto& [ms, watt] : {std::pair{300, 3.0}, {1'000, 0.25}, {700, 10.0}, {5'000, 3.0}, {50, 0.25}}) {
        for (double t = 0; t < ms * 1e-3 - kStep / 2; t += kStep)
            expected += (kAround + kKelvinPerWatt * watt - expected) * kStep / kTau;
        pass(static_cast<uint64_t>(ms) * kMs, static_cast<uint64_t>(watt * 1000) - kIdleMw);
        EXPECT_NEAR(temperature(), expected * 1000, 2) << ms;
    }
}

TEST_F(Sensors, WhoLooksOftenSeesTheSame) {
    std::mt19937_64 random(1);
    Power often, once;
    for (uint64_t at = 0; at < 3 * kSecond; at += 1 + random() % (20 * kMs)) often.advance(at, at * 2'000);
    often.advance(3 * kSecond, 3 * kSecond * 2'000);
    once.advance(3 * kSecond, 3 * kSecond * 2'000);
    EXPECT_NEAR(often.save().die_mc, once.save().die_mc, 0.01);
    EXPECT_NEAR(static_cast<double>(often.save().energy_pj), static_cast<double>(once.save().energy_pj), 1e3);
}

TEST_F(Sensors, PowerIsTheMeanSinceTheLastReading) {
    pass(kSecond, 1'000);
    pass(kSecond, 3'000);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_POWER), kIdleMw + 2'000);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_POWER), kIdleMw + 2'000) << "no time has passed";
    pass(10 * kMs, 500);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_POWER), kIdleMw + 500);
    pass(0);
    pass(kSecond);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_POWER), kIdleMw);
}

TEST_F(Sensors, EnergyIsCountedInMicrojoules) {
    pass(2 * kSecond, 1'000);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_ENERGY), 2 * (kIdleMw + 1'000) * 1'000);
    pass(4'000 * kSecond, 3'000);
    const uint64_t expected = uint64_t{2 * (kIdleMw + 1'000) * 1'000} + uint64_t{4'000} * (kIdleMw + 3'000) * 1'000;
    const uint64_t low = bench.get(SIDRA_MGMT_SENSOR_ENERGY);
    pass(8'000 * kSecond, 3'000);
    EXPECT_EQ(low | uint64_t{bench.get(SIDRA_MGMT_SENSOR_ENERGY_HIGH)} << 32, expected) << "both of one moment";
}

// ---- Clock ----

TEST_F(Sensors, TheClockHasItsPublishedLevels) {
    const uint32_t expected[][2] = {{100, 600}, {250, 700}, {500, 800}, {1'000, 1'000}};
    for (uint32_t level = 0; level < 4; level++) {
        bench.set(SIDRA_MGMT_CLOCK_LEVEL, level);
        EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_LEVEL), level);
        EXPECT_EQ(bench.unit.power().level(), level);
        EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_KHZ), expected[level][0] * 1'000);
        EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_MILLIVOLT), expected[level][1]);
    }
    for (const uint32_t nonsense : {4u, 255u, ~0u}) {
        bench.set(SIDRA_MGMT_CLOCK_LEVEL, nonsense);
        EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_LEVEL), 3u) << "as before";
    }
}

TEST_F(Sensors, ASlowerClockDrawsLess) {
    // 50 mW, and 200 mW at 1 GHz and 1 V that go with clock and square of the voltage.
    const double expected[] = {50 + 200 * .1 * .36, 50 + 200 * .25 * .49, 50 + 200 * .5 * .64, 250};
    for (uint32_t level = 0; level < 4; level++) {
        bench.set(SIDRA_MGMT_CLOCK_LEVEL, level);
        bench.get(SIDRA_MGMT_SENSOR_POWER);
        pass(kSecond);
        EXPECT_NEAR(bench.get(SIDRA_MGMT_SENSOR_POWER), expected[level], 1) << level;
    }
}

TEST_F(Sensors, ARestartLeavesTheClock) {
    bench.set(SIDRA_MGMT_CLOCK_LEVEL, 1);
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 1);
    bench.unit.restart(SIDRA_BOOT_WATCHDOG);
    EXPECT_EQ(bench.unit.power().level(), 1u);
    EXPECT_TRUE(bench.unit.power().throttled()) << "until somebody decides";
    bench.unit.clear();
    EXPECT_EQ(bench.unit.power().level(), 3u);
    EXPECT_FALSE(bench.unit.power().throttled());
}

TEST_F(Sensors, TheHostHearsOfEachChange) {
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 0);
    EXPECT_EQ(bench.interrupts(), 0u);
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 1);
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 1);
    EXPECT_EQ(bench.host.interrupts, std::vector<uint32_t>{SIDRA_INT_THERMAL});
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 0);
    EXPECT_EQ(bench.interrupts(), 2u);
}

// ---- The comparator ----

TEST_F(Sensors, TooHotIsTheLowestClock) {
    const auto critical = static_cast<int32_t>(bench.get(SIDRA_MGMT_SENSOR_CRITICAL));
    bench.set(SIDRA_MGMT_CLOCK_LEVEL, 2);
    bench.unit.power().set_around(130'000);
    unsigned changes = 0;
    int32_t hottest = 0;
    for (int i = 0; i < 1'000 && changes == 0; i++) {
        changes += pass(10 * kMs);
        if (changes == 0) hottest = std::max(hottest, temperature());
    }
    EXPECT_EQ(changes, 1u);
    EXPECT_LT(hottest, critical);
    EXPECT_GE(temperature(), critical);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_TRIPPED), 1u);
    EXPECT_EQ(bench.unit.power().level(), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_CLOCK_KHZ), 100'000u);
    EXPECT_TRUE(bench.unit.power().throttled());
    bench.set(SIDRA_MGMT_CLOCK_LEVEL, 3);
    EXPECT_EQ(bench.unit.power().level(), 0u) << "whatever firmware wants";

    bench.unit.power().set_around(60'000);
    for (int i = 0; i < 1'000 && changes == 1; i++) changes += pass(10 * kMs);
    EXPECT_EQ(changes, 2u);
    EXPECT_LT(temperature(), critical - 9'000) << "well below, or it would trip again at once";
    EXPECT_EQ(bench.get(SIDRA_MGMT_SENSOR_TRIPPED), 0u);
    EXPECT_EQ(bench.unit.power().level(), 3u);
    EXPECT_FALSE(bench.unit.power().throttled());
    for (int i = 0; i < 1'000; i++) changes += pass(10 * kMs);
    EXPECT_EQ(changes, 2u);
}

// ---- Telemetry ----

class Telemetry : public Sensors {
   protected:
    void publish() {
        bench.set(SIDRA_MGMT_TELEMETRY_TEMPERATURE, static_cast<uint32_t>(-12'345));
        bench.set(SIDRA_MGMT_TELEMETRY_POWER, 777);
        bench.set(SIDRA_MGMT_TELEMETRY_CLOCK, 250'000);
        bench.set(SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX, static_cast<uint32_t>(-5));
        bench.set(SIDRA_MGMT_TELEMETRY_LIMIT, 1'200);
        bench.set(SIDRA_MGMT_TELEMETRY_LIMIT_MIN, 100);
        bench.set(SIDRA_MGMT_TELEMETRY_LIMIT_MAX, 3'000);
        bench.set(SIDRA_MGMT_TELEMETRY_CLOCK_MAX, 1'000'000);
        bench.set(SIDRA_MGMT_TELEMETRY_THROTTLES, 42);
        bench.set(SIDRA_MGMT_TELEMETRY_VALID, ~0u);
    }
    uint64_t valid() { return bench.unit.power().published().valid; }
};

TEST_F(Telemetry, IsWhatFirmwareSays) {
    publish();
    const Power::Published published = bench.unit.power().published();
    EXPECT_EQ(published.valid, SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS)
        << "what is the chip's stays so";
    EXPECT_EQ(published.temperature_mc, -12'345);
    EXPECT_EQ(published.power_mw, 777u);
    EXPECT_EQ(published.clock_khz, 250'000u);
    EXPECT_EQ(published.temperature_max_mc, -5);
    EXPECT_EQ(published.limit_mw, 1'200u);
    EXPECT_EQ(published.limit_min_mw, 100u);
    EXPECT_EQ(published.limit_max_mw, 3'000u);
    EXPECT_EQ(published.clock_max_khz, 1'000'000u);
    EXPECT_EQ(published.throttles, 42u);
    Power other;
    ASSERT_TRUE(other.load_saved(bench.unit.power().save()));
    EXPECT_EQ(other.published().valid, published.valid);
    EXPECT_EQ(other.published().temperature_mc, -12'345);
    EXPECT_EQ(other.published().throttles, 42u);
    // The values next to VALID read back unchanged.
    EXPECT_EQ(bench.get(SIDRA_MGMT_TELEMETRY_CLOCK), 250'000u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TELEMETRY_VALID), published.valid);
    EXPECT_EQ(static_cast<int32_t>(bench.get(SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX)), -5);
}

TEST_F(Telemetry, CountsForASecond) {
    publish();
    const uint64_t begin = bench.unit.cycle();
    bench.unit.run(begin + 99'000'000, ~uint64_t{0});
    bench.unit.run(bench.unit.cycle() + 10, ~uint64_t{0});
    EXPECT_NE(valid(), 0u);
    bench.unit.run(begin + 101'000'000, ~uint64_t{0});
    bench.unit.run(bench.unit.cycle() + 10, ~uint64_t{0});
    EXPECT_EQ(valid(), 0u);
}

TEST_F(Telemetry, EndsWithWhoPublishedIt) {
    publish();
    bench.unit.restart(SIDRA_BOOT_WATCHDOG);
    EXPECT_EQ(valid(), 0u);
}

// ---- Saving ----

TEST_F(Sensors, GoOnWhereTheyWereSaved) {
    bench.set(SIDRA_MGMT_CLOCK_LEVEL, 2);
    bench.set(SIDRA_MGMT_CLOCK_THROTTLED, 1);
    pass(kSecond, 3'000);
    Power other;
    ASSERT_TRUE(other.load_saved(bench.unit.power().save()));
    EXPECT_EQ(other.level(), 2u);
    EXPECT_TRUE(other.throttled());
    pass(kSecond, 1'000);
    other.advance(now, queues_pj);
    EXPECT_EQ(other.save().die_mc, bench.unit.power().save().die_mc);
    EXPECT_EQ(other.save().energy_pj, bench.unit.power().save().energy_pj);
}

TEST_F(Sensors, RefuseStatesThatNoneCanHave) {
    pass(kSecond, 3'000);
    const Power::Saved good = bench.unit.power().save();
    const auto refused = [&](auto&& damage) {
        Power::Saved bad = good;
        damage(bad);
        Power other;
        return !other.load_saved(bad) && other.save().die_mc == 60'000;
    };
    EXPECT_FALSE(refused([](Power::Saved&) {}));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.die_mc = std::nan(""); }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.die_mc = -56'000; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.die_mc = HUGE_VAL; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.read_ns = s.advanced_ns + 1; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.read_pj = s.energy_pj + 1; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.asked_level = 4; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.tripped = 2; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.throttled = 2; }));
    EXPECT_TRUE(refused([](Power::Saved& s) { s.valid = SIDRA_TELEMETRY_HAS_COUNTERS; }));
}

}  // namespace
}  // namespace sidra::test
