// SPDX-License-Identifier: MIT
// What the crossbars' ADCs are off by, and what is set against that: each crossbar has a trim, which is added to each
// sum of a tile as the offset is. Trims are 0 at power-on and after a reset of the device; calibration sets them.
#ifndef SIDRA_CHIP_ADCS_H
#define SIDRA_CHIP_ADCS_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "sidra_management.h"

namespace sidra::chip {

// Thread-safe, but that one thread at a time sets trims.
class Adcs {
   public:
    static constexpr int32_t kTrimMax = SIDRA_MGMT_SEQUENCER_TRIM_MAX;
    static constexpr uint32_t kReads = 16;  // of a crossbar, each time that it is calibrated

    explicit Adcs(uint32_t xbars) : trims_(xbars) {}

    // Knob: of all ADCs.
    void set_offset(int32_t offset) { offset_.store(offset, std::memory_order_relaxed); }

    // Nothing is added to any sum.
    bool exact() const {
        return offset_.load(std::memory_order_relaxed) == 0 && trimmed_.load(std::memory_order_relaxed) == 0;
    }
    // What each sum of a tile there is off by, modulo 2^32.
    uint32_t off(uint32_t xbar) const {
        return static_cast<uint32_t>(offset_.load(std::memory_order_relaxed)) + static_cast<uint32_t>(trim(xbar));
    }

    struct Found {
        uint32_t changed;  // trims that are others now
        uint32_t beyond;   // that are at their ends
        uint32_t worst;    // offset, without its sign
    };
    // Measures these with no input driven, and trims them. What a trim does not reach it is as near to as it can be.
    // `seed`: of the ADCs' noise, at level `accurate`; at level `fast` they have none.
    Found calibrate(uint32_t first, uint32_t count, std::optional<uint64_t> seed);
    // How many trims are at their ends.
    uint32_t beyond() const { return beyond_.load(std::memory_order_relaxed); }

    int32_t trim(uint32_t xbar) const { return trims_[xbar].load(std::memory_order_relaxed); }
    // False: no crossbar has that.
    bool set_trim(uint32_t xbar, int32_t trim);
    void clear();

   private:
    static bool at_end(int32_t trim) { return trim == kTrimMax || trim == -kTrimMax; }

    std::atomic<int32_t> offset_{0};
    std::vector<std::atomic<int32_t>> trims_;
    std::atomic<uint32_t> trimmed_{0}, beyond_{0};  // not 0; at its end
};

}  // namespace sidra::chip

#endif
