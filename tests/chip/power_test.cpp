// SPDX-License-Identifier: MIT
// Power, temperature and clock of the whole chip: the energy that packets are charged, what the host sees, and thermal
// protection without a working firmware. Sensors and registers are tested in tests/management, the firmware's control
// in tests/services.
#include <algorithm>

#include "bench.h"
#include "packets.h"
#include "sidra_management.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

class Heat : public testing::Test {
   protected:
    void pass(uint64_t ns, uint64_t step = 10 * kMs) {
        for (uint64_t left = ns; left != 0; left -= std::min(left, step)) {
            bench.clock() += std::min(left, step);
            bench.run();
        }
    }
    void boot() {
        pass(100 * kMs, kMs);
        ASSERT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE, 0u);
    }
    void knob(uint32_t which, uint64_t value) { ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), which, value)); }
    bool throttled() { return bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_THROTTLED; }
    sidra_report cost_of(const sidra_cmd& cmd) {
        const uint64_t index = queue.submit(cmd);
        bench.run();
        EXPECT_GT(queue.timeline(), index);
        return queue.report(index);
    }
    // The core hangs, and then the temperature trips the comparator before the watchdog fires.
    void trip() {
        knob(SIDRA_KNOB_FIRMWARE_HANG, 1);
        knob(SIDRA_KNOB_TEMPERATURE_MC, 250'000);
        pass(900 * kMs);
        ASSERT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON}) << "nobody has looked";
    }

    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
};

TEST_F(Heat, AChipWithADeadCoreTripsByItself) {
    boot();
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_THERMAL);
    EXPECT_FALSE(throttled());
    trip();
    EXPECT_TRUE(throttled());
    EXPECT_EQ(bench.interrupts(SIDRA_MSIX_ADMIN), 1u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_THERMAL, uint32_t{SIDRA_INT_THERMAL});
    EXPECT_EQ(cost_of(nop()).device_ps, 40'000u) << "and goes on, slowly";
}

// At 100 MHz and 0.6 V the table says: logic takes ten times as long and 0.36 of the energy; array and link are
// unaffected.
TEST_F(Heat, TimeAndEnergyFollowTheClock) {
    boot();
    const uint32_t weights = context.weights({.rows = 256, .cols = 256});
    const uint64_t data = context.alloc(65536), out = context.alloc(65536);
    const sidra_cmd fill_cells = program(weights, 0, 256, 0, 256, data, 256);
    const sidra_cmd one = mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 10, data, 256, out, 1024);
    const sidra_cmd positive = relu(context, 16, 256, {data}, {out});
    const sidra_cmd move = copy(out, data, 32'768);
    const sidra_report programs = cost_of(fill_cells), products = cost_of(one), vectors = cost_of(positive),
                       moves = cost_of(move);
    EXPECT_EQ(products.device_ps, 10 * 15'000 + 4'000u) << "bound by the array";
    trip();
    ASSERT_TRUE(throttled());
    constexpr uint64_t kPacket = 4'000, kSlowPacket = 40'000, kPacketPj = 20, kSlowPacketPj = 7;
    const sidra_report slow = cost_of(nop());
    EXPECT_EQ(slow.device_ps, kSlowPacket);
    EXPECT_EQ(slow.energy_pj, kSlowPacketPj);
    const sidra_report slow_programs = cost_of(fill_cells);
    EXPECT_EQ(slow_programs.device_ps - kSlowPacket, programs.device_ps - kPacket) << "pulses are as long as ever";
    EXPECT_EQ(slow_programs.energy_pj - kSlowPacketPj, programs.energy_pj - kPacketPj);
    // Here the power budget is the limit: one crossbar draws 0.87 of 3 W at 1 GHz, when logic is a tenth of that work.
    const sidra_report slow_products = cost_of(one);
    EXPECT_NEAR(static_cast<double>(slow_products.device_ps), 10 * (10 * 13'107 / 3.0) + 40'000, 700);
    EXPECT_NEAR(static_cast<double>(slow_products.energy_pj - kSlowPacketPj),
                static_cast<double>(products.energy_pj - kPacketPj) * 0.36, 1);
    const sidra_report slow_vectors = cost_of(positive);
    EXPECT_EQ(slow_vectors.device_ps - kSlowPacket, 10 * (vectors.device_ps - kPacket));
    EXPECT_EQ(cost_of(move).device_ps - kSlowPacket, moves.device_ps - kPacket) << "the link has a clock of its own";
}

TEST_F(Heat, ComesToRestWhenItIsCoolAgain) {
    boot();
    trip();
    knob(SIDRA_KNOB_TEMPERATURE_MC, 25'000);
    bench.write32(SIDRA_REG_INT_STATUS, SIDRA_INT_THERMAL);
    pass(5 * kSecond);
    EXPECT_FALSE(throttled());
    EXPECT_NE(bench.read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_THERMAL, 0u);
    EXPECT_EQ(cost_of(nop()).device_ps, 4'000u);
}

// ---- With firmware ----

TEST_F(Heat, FirmwareThrottlesBeforeTheChipHasTo) {
    boot();
    knob(SIDRA_KNOB_TEMPERATURE_MC, 97'000);
    pass(10 * kSecond);
    EXPECT_TRUE(throttled());
    EXPECT_NE(bench.read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_THERMAL, 0u);
    const sidra_telemetry t = bench.telemetry();
    EXPECT_EQ(t.clock_khz, 100'000u);
    EXPECT_EQ(t.throttles, 3u);
    EXPECT_GT(t.temperature_mc, 95'000);
    EXPECT_LT(t.temperature_mc, 98'000);
    EXPECT_EQ(cost_of(nop()).device_ps, 40'000u);
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_TRUE(throttled()) << "a reset is no cooler";
    pass(10 * kSecond);
    EXPECT_TRUE(throttled());
    knob(SIDRA_KNOB_TEMPERATURE_MC, 60'000);
    pass(10 * kSecond);
    EXPECT_FALSE(throttled());
    EXPECT_EQ(bench.telemetry().clock_khz, 1'000'000u);
}

TEST_F(Heat, TelemetryShowsWhatFirmwareSeesWhileItRuns) {
    constexpr uint64_t kFirmwares =
        SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS;
    const auto shown = [&] { return bench.telemetry().valid & kFirmwares; };
    EXPECT_EQ(shown(), 0u);
    boot();
    EXPECT_EQ(shown(), kFirmwares);
    pass(10 * kSecond);
    sidra_telemetry t = bench.telemetry();
    EXPECT_NEAR(t.temperature_mc, 61'250, 20) << "250 mW make it 1.25 K warmer";
    EXPECT_EQ(t.power_mw, 250u);
    EXPECT_EQ(t.clock_khz, 1'000'000u);
    EXPECT_EQ(t.temperature_max_mc, 95'000);
    EXPECT_EQ(t.temperature_crit_mc, 105'000);
    EXPECT_EQ(t.power_limit_mw, 3'000u);
    EXPECT_EQ(t.power_limit_min_mw, 100u);
    EXPECT_EQ(t.power_limit_max_mw, 3'000u);
    EXPECT_EQ(t.clock_max_khz, 1'000'000u);
    EXPECT_EQ(t.throttles, 0u);

    knob(SIDRA_KNOB_FIRMWARE_PANIC, 1);
    pass(10 * kMs);
    ASSERT_NE(bench.read32(SIDRA_REG_PANIC), 0u);
    t = bench.telemetry();
    EXPECT_EQ(t.valid & kFirmwares, 0u);
    EXPECT_EQ(t.temperature_mc, 0);
    EXPECT_EQ(t.power_mw, 0u);
    EXPECT_EQ(t.clock_khz, 0u);
    EXPECT_EQ(t.temperature_max_mc, 0);
    EXPECT_EQ(t.temperature_crit_mc, 0);
    EXPECT_EQ(t.power_limit_mw + t.power_limit_min_mw + t.power_limit_max_mw + t.clock_max_khz, 0u);
    pass(2 * kSecond);
    EXPECT_EQ(shown(), kFirmwares) << "its watchdog has started it anew";

    knob(SIDRA_KNOB_FIRMWARE_HANG, 1);
    pass(500 * kMs);
    EXPECT_EQ(shown(), kFirmwares) << "it may beat late";
    while (bench.read32(SIDRA_REG_BOOT_REASON) != SIDRA_BOOT_WATCHDOG) pass(kMs, kMs);
    EXPECT_EQ(shown(), 0u);
    boot();
    EXPECT_EQ(shown(), kFirmwares);
}

// Knob, telemetry and queues are used from separate threads.
TEST_F(Heat, ComesAndGoesWhileOthersWork) {
    boot();
    bench.set_clock_step(10 * kMs);
    bench.start_threads(2);
    for (unsigned round = 0; round < rounds(20); round++) {
        knob(SIDRA_KNOB_TEMPERATURE_MC, round % 2 ? 20'000 : 200'000);
        while (throttled() != (round % 2 == 0)) {
            const uint64_t index = queue.submit(nop());
            while (queue.timeline() <= index) std::this_thread::yield();
            const uint64_t ps = queue.report(index).device_ps;
            ASSERT_TRUE(ps == 4'000 || ps == 8'000 || ps == 16'000 || ps == 40'000) << ps;
            const sidra_telemetry t = bench.telemetry();
            if (t.valid & SIDRA_TELEMETRY_HAS_THERMAL) ASSERT_GE(t.temperature_mc, 20'000);
        }
    }
    bench.stop_threads();
}

TEST_F(Heat, TemperaturesThatAreNoneAreRefused) {
    for (const int64_t mc : {int64_t{250'001}, int64_t{-55'001}, int64_t{1} << 32, INT64_MIN})
        EXPECT_FALSE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_TEMPERATURE_MC, static_cast<uint64_t>(mc))) << mc;
    knob(SIDRA_KNOB_TEMPERATURE_MC, 250'000);
    knob(SIDRA_KNOB_TEMPERATURE_MC, static_cast<uint64_t>(int64_t{-55'000}));
}

TEST_F(Heat, ALoadedChipIsAsHotAsItWas) {
    boot();
    trip();
    std::vector<uint8_t> stream;
    const auto write = [](void* opaque, const void* data, size_t size) {
        auto& to = *static_cast<std::vector<uint8_t>*>(opaque);
        to.insert(to.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
        return true;
    };
    ASSERT_EQ(sidra_chip_save(bench.chip(), write, &stream), 0);
    Bench other;
    std::span<const uint8_t> left = stream;
    const auto read = [](void* opaque, void* data, size_t size) {
        auto& from = *static_cast<std::span<const uint8_t>*>(opaque);
        if (size > from.size()) return false;
        std::memcpy(data, from.data(), size);
        from = from.subspan(size);
        return true;
    };
    char why[200] = "";
    ASSERT_EQ(sidra_chip_load(other.chip(), read, &left, why, sizeof why), 0) << why;
    EXPECT_NE(other.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_THROTTLED, 0u);
    // The ambient temperature comes from a knob, which keeps its value.
    for (int i = 0; i < 500; i++) {
        other.clock() += 10 * kMs;
        other.run();
    }
    EXPECT_EQ(other.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_THROTTLED, 0u);
}

}  // namespace
}  // namespace sidra::chip_test
