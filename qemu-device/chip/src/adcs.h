// SPDX-License-Identifier: MIT
// The offsets of the crossbars' ADCs and their correction. Each crossbar has a trim, which is added, like the offset,
// to each sum of a tile. Trims are 0 at power-on and after a device reset; calibration sets them.
#ifndef SIDRA_CHIP_ADCS_H
#define SIDRA_CHIP_ADCS_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "sidra_management.h"

namespace sidra::chip {

// Thread-safe, except that only one thread at a time may set trims.
class Adcs {
   public:
    static constexpr int32_t kTrimMax = SIDRA_MGMT_SEQUENCER_TRIM_MAX;
    static constexpr uint32_t kReads = 16;  // reads of a crossbar in one calibration

    explicit Adcs(uint32_t xbars) : trims_(xbars) {}

    // Fault knob: the offset of all ADCs.
    void set_offset(int32_t offset) { offset_.store(offset, std::memory_order_relaxed); }

    // Whether offset and trims are all 0.
    bool exact() const {
        return offset_.load(std::memory_order_relaxed) == 0 && trimmed_.load(std::memory_order_relaxed) == 0;
    }
    // The error of each sum of a tile on this crossbar, modulo 2^32.
    uint32_t off(uint32_t xbar) const {
        return static_cast<uint32_t>(offset_.load(std::memory_order_relaxed)) + static_cast<uint32_t>(trim(xbar));
    }

    struct Found {
        uint32_t changed;  // trims with a new value
        uint32_t beyond;   // trims at their limit
        uint32_t worst;    // largest absolute offset
    };
    // Measures the offsets of these crossbars with no input driven, and sets their trims. An offset beyond the range of
    // a trim is corrected as far as possible. `seed`: for the noise of the ADCs at level `accurate`; at level `fast`
    // there is none.
    Found calibrate(uint32_t first, uint32_t count, std::optional<uint64_t> seed);
    // Number of trims at their limit.
    uint32_t beyond() const { return beyond_.load(std::memory_order_relaxed); }

    int32_t trim(uint32_t xbar) const { return trims_[xbar].load(std::memory_order_relaxed); }
    // Returns false if the number or the trim is out of range.
    bool set_trim(uint32_t xbar, int32_t trim);
    void clear();

   private:
    static bool at_end(int32_t trim) { return trim == kTrimMax || trim == -kTrimMax; }

    std::atomic<int32_t> offset_{0};
    std::vector<std::atomic<int32_t>> trims_;
    std::atomic<uint32_t> trimmed_{0}, beyond_{0};  // trims that are not 0; trims at their limit
};

}  // namespace sidra::chip

#endif
