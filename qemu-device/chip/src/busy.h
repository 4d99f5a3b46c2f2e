// SPDX-License-Identifier: MIT
// The time during which the engines of the chip work. An engine is busy while at least one executor works on a packet
// of its kind, and the chip is busy while at least one engine is. A reading includes the interval that is still open,
// so no counter ever grows faster than the clock.
#ifndef SIDRA_CHIP_BUSY_H
#define SIDRA_CHIP_BUSY_H

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip {

class Busy {
   public:
    explicit Busy(const sidra_chip_host& host) : host_(host) {}

    // An executor stops working with the engine `from` and continues with `to`; nullopt means no engine. Reads the
    // host's clock once, and returns that time.
    uint64_t change(std::optional<sidra_hw_engine> from, std::optional<sidra_hw_engine> to);

    struct Times {
        uint64_t host_clock_ns;  // the moment of this reading
        uint64_t chip_ns;
        std::array<uint64_t, SIDRA_HW_ENGINE_COUNT> engine_ns;
    };
    Times read() const;

    // The sum of the intervals that have ended. While no executor works this is all of the time, so it is what a saved
    // chip holds.
    std::atomic<uint64_t>& chip_total() { return chip_.total_ns; }
    std::atomic<uint64_t>& engine_total(uint32_t engine) { return engines_[engine].total_ns; }

   private:
    struct Span {
        std::atomic<uint64_t> total_ns{0};
        uint64_t since_ns = 0;
        uint32_t executors = 0;

        void begin(uint64_t now) {
            if (executors++ == 0) since_ns = now;
        }
        void end(uint64_t now) {
            if (--executors == 0) total_ns.fetch_add(now - since_ns, std::memory_order_relaxed);
        }
        uint64_t at(uint64_t now) const {
            return total_ns.load(std::memory_order_relaxed) + (executors != 0 ? now - since_ns : 0);
        }
    };

    const sidra_chip_host& host_;
    mutable std::mutex lock_;  // protects the spans; the clock is read under it, so their times never go backwards
    Span chip_;
    std::array<Span, SIDRA_HW_ENGINE_COUNT> engines_;
};

}  // namespace sidra::chip

#endif
