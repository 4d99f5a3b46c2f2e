// SPDX-License-Identifier: MIT
// Level `accurate`: the time by which cells age, and what they lose in it.
#ifndef SIDRA_CHIP_CELL_CLOCK_H
#define SIDRA_CHIP_CELL_CLOCK_H

#include <cstdint>
#include <mutex>

#include "cells.h"

namespace sidra::chip {

// The clock for the ageing of cells, in seconds of the device clock at the reference temperature of drift. It runs
// faster when the chip is hotter.
class CellClock {
   public:
    explicit CellClock(const physics::CellParameters& cells);
    double now(uint64_t device_ns) const;
    // Return false and change nothing if the argument is out of range.
    bool set_temperature(int64_t milli_celsius, uint64_t device_ns);
    bool age(uint64_t seconds, uint64_t device_ns);
    bool set(double now, uint64_t device_ns);
    static bool is_time(double now);  // whether the clock can represent this time

   private:
    double now_locked(uint64_t device_ns) const;

    const physics::CellParameters& cells_;
    mutable std::mutex lock_;
    double base_ = 0;  // value at since_ns_
    uint64_t since_ns_ = 0;
    double speed_;
};

// The loss of conductance in a time on that clock, in steps of 1 / kDriftOne: half a day at the published rate.
inline constexpr double kDriftOne = 65536;
uint32_t drift(const physics::CellParameters& cells, double seconds);
inline float remaining(uint32_t drift) { return static_cast<float>(1 - drift / kDriftOne); }
// Other cells do not drift.
inline bool drifts(physics::CellState cell) { return cell == physics::CellState::kFormed; }
// A time on the clock as an age, whatever was loaded.
double age_between(double since, double now);

}  // namespace sidra::chip

#endif
