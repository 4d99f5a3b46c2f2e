// SPDX-License-Identifier: MIT
#include "cell_clock.h"

#include <algorithm>
#include <cmath>

namespace sidra::chip {
namespace {

constexpr uint64_t kAgeMax = 10'000'000'000;  // s, about 317 years
constexpr double kCellsTimeMax = 1e11;        // limit of drift_factor()

}  // namespace

CellClock::CellClock(const physics::CellParameters& cells)
    : cells_(cells), speed_(static_cast<double>(physics::drift_speed(cells, cells.drift_celsius))) {}

// The host's clock may stop, but does not go back; the check is for loaded values, which are not trusted.
double CellClock::now_locked(uint64_t device_ns) const {
    const double passed = device_ns > since_ns_ ? static_cast<double>(device_ns - since_ns_) * 1e-9 : 0;
    return std::min(base_ + passed * speed_, kCellsTimeMax);
}

double CellClock::now(uint64_t device_ns) const {
    std::lock_guard guard(lock_);
    return now_locked(device_ns);
}

bool CellClock::is_time(double now) { return now >= 0 && now <= kCellsTimeMax; }

bool CellClock::set(double now, uint64_t device_ns) {
    if (!is_time(now)) return false;
    std::lock_guard guard(lock_);
    base_ = now;
    since_ns_ = device_ns;
    return true;
}

bool CellClock::set_temperature(int64_t milli_celsius, uint64_t device_ns) {
    if (milli_celsius < -55'000 || milli_celsius > 250'000) return false;
    std::lock_guard guard(lock_);
    base_ = now_locked(device_ns);
    since_ns_ = device_ns;
    speed_ = static_cast<double>(physics::drift_speed(cells_, static_cast<double>(milli_celsius) / 1000));
    return true;
}

bool CellClock::age(uint64_t seconds, uint64_t device_ns) {
    if (seconds > kAgeMax) return false;
    std::lock_guard guard(lock_);
    base_ = std::min(now_locked(device_ns) + static_cast<double>(seconds) * speed_, kCellsTimeMax);
    since_ns_ = device_ns;
    return true;
}

double age_between(double since, double now) { return std::clamp(now - since, 0.0, kCellsTimeMax); }

uint32_t drift(const physics::CellParameters& cells, double seconds) {
    const float left = physics::drift_factor(cells, std::clamp(seconds, 0.0, kCellsTimeMax), cells.drift_celsius);
    return static_cast<uint32_t>(std::lround((1 - static_cast<double>(left)) * kDriftOne));
}

}  // namespace sidra::chip
