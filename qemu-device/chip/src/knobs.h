// SPDX-License-Identifier: MIT
// Fault knobs: what tests let go wrong in the chip (enum sidra_chip_knob). Knobs of the bus, the cells and the
// management core belong to these.
#ifndef SIDRA_CHIP_KNOBS_H
#define SIDRA_CHIP_KNOBS_H

#include <atomic>
#include <cstdint>

#include "sidra_chip.h"

namespace sidra::chip {

// Any thread.
class Knobs {
   public:
    std::atomic<uint64_t> lose_msix{0}, corrupt_fetch{0}, slow_tile_ns{0};
    std::atomic<uint32_t> no_quiesce_ack{0}, lie{SIDRA_LIE_NONE};
    std::atomic<bool> stall{false};
    std::atomic<bool> never_ready{false};  // that lie is active

    // Whether this lie is due; resets it.
    bool lies(uint32_t about) {
        uint32_t next = about;
        return lie.load(std::memory_order_relaxed) == about && lie.compare_exchange_strong(next, SIDRA_LIE_NONE);
    }
    bool loses_interrupt() { return count_down(lose_msix) != 0; }
    bool corrupts_fetch() { return count_down(corrupt_fetch) == 1; }

   private:
    // Returns the value before.
    static uint64_t count_down(std::atomic<uint64_t>& counter) {
        uint64_t left = counter.load(std::memory_order_relaxed);
        while (left != 0 && !counter.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
        }
        return left;
    }
};

}  // namespace sidra::chip

#endif
