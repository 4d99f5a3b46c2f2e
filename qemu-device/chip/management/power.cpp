// SPDX-License-Identifier: MIT
#include "power.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "sidra_hw.h"

namespace sidra::management {
namespace {

constexpr uint64_t kPublishable = SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS;
static_assert(kPublishable <= UINT32_MAX && std::size(kClockLevels) == SIDRA_MGMT_CLOCK_LEVELS);
// The idle power of the nominal clock is the published leakage and clock tree.
static_assert(idle_mw(kClockNominal) == kPower.leakage_mw + kPower.clock_tree_mw);

// The index of a word that firmware publishes, or WORDS if the address has none. VALID is one of them.
constexpr uint32_t telemetry_word(uint32_t address) {
    constexpr uint32_t kEnd = SIDRA_MGMT_TELEMETRY_THROTTLES + 4;
    static_assert((kEnd - SIDRA_MGMT_TELEMETRY_TEMPERATURE) / 4 == SIDRA_MGMT_TELEMETRY_WORDS + 1);
    if (address % 4 || address < SIDRA_MGMT_TELEMETRY_TEMPERATURE || address >= kEnd ||
        address == SIDRA_MGMT_TELEMETRY_VALID)
        return SIDRA_MGMT_TELEMETRY_WORDS;
    return (address - SIDRA_MGMT_TELEMETRY_TEMPERATURE) / 4 - (address > SIDRA_MGMT_TELEMETRY_VALID);
}

}  // namespace

void Power::clear() {
    around_mc_ = asked_around_mc_.load();
    die_mc_ = around_mc_;
    advanced_ns_ = work_pj_ = energy_pj_ = read_ns_ = read_pj_ = energy_latch_ = published_cycle_ = 0;
    read_mw_ = idle_mw(kClockNominal);
    asked_level_ = kClockNominal;
    tripped_.store(0);
    throttled_.store(0);
    valid_.store(0);
    for (auto& word : telemetry_) word.store(0);
    set_level();
}

void Power::set_level() { level_.store(tripped_.load() ? 0 : asked_level_); }

bool Power::advance(uint64_t now_ns, uint64_t work_pj) {
    // Neither decreases, except when a different state is loaded.
    const uint64_t passed = now_ns > advanced_ns_ ? now_ns - advanced_ns_ : 0;
    if (passed != 0) {
        const uint64_t spent = static_cast<uint64_t>(std::max<int64_t>(static_cast<int64_t>(work_pj - work_pj_), 0));
        const uint32_t idle = idle_mw(level());
        const auto ns = static_cast<double>(passed);
        const double mw = std::min(idle + static_cast<double>(spent) / ns, double{kPower.supply_mw});  // pJ a ns
        energy_pj_ += spent + idle * passed;
        const double settled = around_mc_ + mw * kPower.kelvin_per_watt;  // mW times K/W
        die_mc_ = settled + (die_mc_ - settled) * std::exp(-ns / static_cast<double>(kPower.settle_ns));
        advanced_ns_ = now_ns;
        work_pj_ = work_pj;
    }
    around_mc_ = asked_around_mc_.load();
    const bool was = tripped_.load() != 0;
    const bool is = die_mc_ >= (was ? kPower.release_mc : kPower.critical_mc);
    tripped_.store(is);
    set_level();
    return was != is;
}

void Power::forget_stale(uint64_t cycle) {
    if (cycle - published_cycle_ > kPower.stale_cycles) valid_.store(0);
}

Power::Published Power::published() const {
    const auto word = [this](uint32_t address) { return telemetry_[telemetry_word(address)].load(); };
    Published published{valid_.load(),
                        static_cast<int32_t>(word(SIDRA_MGMT_TELEMETRY_TEMPERATURE)),
                        word(SIDRA_MGMT_TELEMETRY_POWER),
                        word(SIDRA_MGMT_TELEMETRY_CLOCK),
                        static_cast<int32_t>(word(SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX)),
                        word(SIDRA_MGMT_TELEMETRY_LIMIT),
                        word(SIDRA_MGMT_TELEMETRY_LIMIT_MIN),
                        word(SIDRA_MGMT_TELEMETRY_LIMIT_MAX),
                        word(SIDRA_MGMT_TELEMETRY_CLOCK_MAX),
                        word(SIDRA_MGMT_TELEMETRY_THROTTLES)};
    published.valid &= valid_.load();  // clear() clears it before the words
    return published;
}

// The mean power since the last call. If no time has passed, the last result.
uint32_t Power::mean_power() {
    if (advanced_ns_ > read_ns_) {
        const uint64_t mw = (energy_pj_ - read_pj_) / (advanced_ns_ - read_ns_);
        read_mw_ = static_cast<uint32_t>(std::min<uint64_t>(mw, UINT32_MAX));
        read_ns_ = advanced_ns_;
        read_pj_ = energy_pj_;
    }
    return read_mw_;
}

bool Power::load(uint32_t address, uint32_t* value) {
    constexpr uint64_t kMicro = 1'000'000;
    if (const uint32_t word = telemetry_word(address); word < std::size(telemetry_)) {
        *value = telemetry_[word].load();
        return true;
    }
    switch (address) {
        case SIDRA_MGMT_SENSOR_TEMPERATURE:
            *value = static_cast<uint32_t>(static_cast<int32_t>(std::lround(die_mc_)));
            return true;
        case SIDRA_MGMT_SENSOR_POWER:
            *value = mean_power();
            return true;
        case SIDRA_MGMT_SENSOR_ENERGY:
            energy_latch_ = energy_pj_ / kMicro;
            *value = static_cast<uint32_t>(energy_latch_);
            return true;
        case SIDRA_MGMT_SENSOR_ENERGY_HIGH:
            *value = static_cast<uint32_t>(energy_latch_ >> 32);
            return true;
        case SIDRA_MGMT_SENSOR_CRITICAL:
            *value = static_cast<uint32_t>(kPower.critical_mc);
            return true;
        case SIDRA_MGMT_SENSOR_TRIPPED:
            *value = tripped_.load();
            return true;
        case SIDRA_MGMT_CLOCK_LEVEL:
            *value = asked_level_;
            return true;
        case SIDRA_MGMT_CLOCK_KHZ:
            *value = kClockLevels[level()].mhz * 1'000;
            return true;
        case SIDRA_MGMT_CLOCK_MILLIVOLT:
            *value = kClockLevels[level()].millivolt;
            return true;
        case SIDRA_MGMT_CLOCK_THROTTLED:
            *value = throttled_.load();
            return true;
        case SIDRA_MGMT_TELEMETRY_VALID:
            *value = valid_.load();
            return true;
        default:
            return false;
    }
}

bool Power::store(uint32_t address, uint32_t value, uint64_t cycle) {
    if (const uint32_t word = telemetry_word(address); word < std::size(telemetry_)) {
        telemetry_[word].store(value);
        return true;
    }
    switch (address) {
        case SIDRA_MGMT_CLOCK_LEVEL:
            if (value < SIDRA_MGMT_CLOCK_LEVELS) asked_level_ = value;
            set_level();
            return true;
        case SIDRA_MGMT_CLOCK_THROTTLED:
            throttled_.store(value & 1);
            return true;
        case SIDRA_MGMT_TELEMETRY_VALID:
            published_cycle_ = cycle;
            valid_.store(value & kPublishable);
            return true;
        default:
            return false;
    }
}

static_assert(std::is_trivially_copyable_v<Power::Saved> && sizeof(Power::Saved) == 8 * 8 + 14 * 4,
              "no padding whose contents would be anybody's guess");

Power::Saved Power::save() const {
    Saved saved{
        die_mc_,       advanced_ns_, work_pj_,     energy_pj_,      read_ns_,          read_pj_, published_cycle_,
        energy_latch_, read_mw_,     asked_level_, tripped_.load(), throttled_.load(), {},       valid_.load()};
    std::copy(std::begin(telemetry_), std::end(telemetry_), saved.telemetry);
    return saved;
}

bool Power::load_saved(const Saved& s) {
    constexpr double kColdest = -55'000, kHottest = 250'000 + double{kPower.supply_mw} * kPower.kelvin_per_watt;
    if (!(s.die_mc >= kColdest && s.die_mc <= kHottest) || s.read_ns > s.advanced_ns || s.read_pj > s.energy_pj ||
        s.asked_level >= SIDRA_MGMT_CLOCK_LEVELS || s.tripped > 1 || s.throttled > 1 || (s.valid & ~kPublishable))
        return false;
    die_mc_ = s.die_mc;
    advanced_ns_ = s.advanced_ns;
    work_pj_ = s.work_pj;
    energy_pj_ = s.energy_pj;
    read_ns_ = s.read_ns;
    read_pj_ = s.read_pj;
    published_cycle_ = s.published_cycle;
    energy_latch_ = s.energy_latch;
    read_mw_ = s.read_mw;
    asked_level_ = s.asked_level;
    tripped_.store(s.tripped);
    throttled_.store(s.throttled);
    for (size_t i = 0; i < std::size(telemetry_); i++) telemetry_[i].store(s.telemetry[i]);
    valid_.store(s.valid);
    set_level();
    return true;
}

}  // namespace sidra::management
