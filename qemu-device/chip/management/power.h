// SPDX-License-Identifier: MIT
// Power, temperature and clock of the chip: the blocks for sensors, clock and telemetry of
// firmware/include/sidra_management.h, and a thermal comparator that works without firmware.
//
// The thermal model is one capacity behind one resistance: the die approaches the ambient temperature plus a rise in
// proportion to power, with one time constant. Public Y1 figures are marked [Y1], our decisions [ours].
#ifndef SIDRA_MANAGEMENT_POWER_H
#define SIDRA_MANAGEMENT_POWER_H

#include <atomic>
#include <cstdint>

#include "sidra_management.h"

namespace sidra::management {

struct ClockLevel {
    uint32_t mhz, millivolt;
};
inline constexpr ClockLevel kClockLevels[SIDRA_MGMT_CLOCK_LEVELS] = {  // [Y1]
    {100, 600},
    {250, 700},
    {500, 800},
    {1'000, 1'000}};
inline constexpr uint32_t kClockNominal = SIDRA_MGMT_CLOCK_LEVELS - 1;

// Dynamic energy is proportional to the square of the voltage; in thousandths of that at the nominal voltage.
constexpr uint64_t energy_permille(uint32_t level) {
    const uint64_t millivolt = kClockLevels[level].millivolt;
    return millivolt * millivolt / 1'000;
}

struct PowerTable {
    uint32_t leakage_mw = 50;            // [Y1]
    uint32_t clock_tree_mw = 200;        // [Y1] "clock + I/O", at 1 GHz and 1.0 V; scaling it with both is [ours]
    uint32_t kelvin_per_watt = 5;        // [ours] from die to ambient: 3 W cause 15 K
    uint64_t settle_ns = 2'000'000'000;  // [ours] time constant: a die with its package
    uint32_t supply_mw = 100'000;        // [ours] upper bound of the input power, whatever energy queues report
    int32_t around_mc = 60'000;          // [Y1] typical chip temperature
    int32_t critical_mc = 105'000;       // [ours] usual limit of a junction: the lowest clock from here on
    int32_t release_mc = 95'000;         // [ours] the lowest clock ends below this
    uint64_t stale_cycles =
        100'000'000;  // [ours] values that firmware publishes are valid for a second, the time of its watchdog
};
inline constexpr PowerTable kPower{};

// The power drawn without any work.
constexpr uint32_t idle_mw(uint32_t level) {
    const uint64_t tree = kPower.clock_tree_mw * energy_permille(level) * kClockLevels[level].mhz;
    return kPower.leakage_mw + static_cast<uint32_t>(tree / (1'000 * kClockLevels[kClockNominal].mhz));
}

// One thread at a time, except for functions marked "any thread".
class Power {
   public:
    Power() { clear(); }
    // Resets to the state at power-on, at time 0.
    void clear();
    // The core restarts: its published values become invalid. Clock and sensors are not affected.
    void core_restarts() { valid_.store(0); }

    // ---- Any thread

    uint32_t level() const { return level_.load(std::memory_order_relaxed); }  // current level of the clock
    bool throttled() const { return throttled_.load() || tripped_.load(); }
    // The values that firmware publishes to hosts, in the order of its registers.
    struct Published {
        uint64_t valid;  // SIDRA_TELEMETRY_HAS_*
        int32_t temperature_mc;
        uint32_t power_mw, clock_khz;
        int32_t temperature_max_mc;
        uint32_t limit_mw, limit_min_mw, limit_max_mw, clock_max_khz, throttles;
    };
    Published published() const;
    // Sets the ambient temperature in thousandths of a degree Celsius, from the next advance() on. False: out of range.
    static bool is_temperature(int64_t mc) { return mc >= -55'000 && mc <= 250'000; }
    void set_around(int32_t mc) { asked_around_mc_.store(mc); }

    // ---- Time

    // Advances to `now_ns` of the chip's clock, at which work had used `work_pj` in total. Returns true if the
    // comparator has changed its state.
    bool advance(uint64_t now_ns, uint64_t work_pj);
    // Invalidates published values that are too old at this cycle.
    void forget_stale(uint64_t cycle);

    // ---- The core's registers; false: not one of them

    bool load(uint32_t address, uint32_t* value);
    bool store(uint32_t address, uint32_t value, uint64_t cycle);

    // A plain struct without padding. A loaded state is not trusted: load() returns false without any change if it is
    // impossible.
    struct Saved {
        double die_mc;
        uint64_t advanced_ns, work_pj, energy_pj, read_ns, read_pj, published_cycle, energy_latch;
        uint32_t read_mw, asked_level, tripped, throttled;
        uint32_t telemetry[SIDRA_MGMT_TELEMETRY_WORDS], valid;
    };
    Saved save() const;
    bool load_saved(const Saved& saved);

   private:
    void set_level();
    uint32_t mean_power();

    double die_mc_;
    int32_t around_mc_;               // ambient temperature up to the last advance()
    uint64_t advanced_ns_, work_pj_;  // modulo 2^64
    uint64_t energy_pj_;              // total energy, with and without work
    uint64_t read_ns_, read_pj_;      // when the power was read last
    uint32_t read_mw_;
    uint64_t energy_latch_;
    uint32_t asked_level_;
    uint64_t published_cycle_;
    std::atomic<int32_t> asked_around_mc_{kPower.around_mc};
    std::atomic<uint32_t> level_, tripped_, throttled_;
    std::atomic<uint32_t> telemetry_[SIDRA_MGMT_TELEMETRY_WORDS], valid_;
};

}  // namespace sidra::management

#endif
