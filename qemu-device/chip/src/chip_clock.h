// SPDX-License-Identifier: MIT
// The chip's clock: nanoseconds since power-on, by the host's clock.
#ifndef SIDRA_CHIP_CHIP_CLOCK_H
#define SIDRA_CHIP_CHIP_CLOCK_H

#include <atomic>
#include <cstdint>

#include "sidra_chip.h"

namespace sidra::chip {

// Any thread.
class ChipClock {
   public:
    explicit ChipClock(const sidra_chip_host& host) : host_(host) { set(0); }

    uint64_t now_ns() const { return from_host(host_now_ns()); }
    // Between a time of the host's clock and the same of this one.
    uint64_t from_host(uint64_t host_ns) const { return host_ns - powered_on_ns_.load(std::memory_order_relaxed); }
    uint64_t to_host(uint64_t ns) const { return ns + powered_on_ns_.load(std::memory_order_relaxed); }

    // No other call may run: for a chip that is loaded.
    void set(uint64_t now_ns) { powered_on_ns_.store(host_now_ns() - now_ns); }

   private:
    uint64_t host_now_ns() const { return host_.clock_ns(host_.self); }

    const sidra_chip_host& host_;
    std::atomic<uint64_t> powered_on_ns_{0};  // by the host's clock
};

}  // namespace sidra::chip

#endif
