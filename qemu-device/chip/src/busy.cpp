// SPDX-License-Identifier: MIT
#include "busy.h"

namespace sidra::chip {

uint64_t Busy::change(std::optional<sidra_hw_engine> from, std::optional<sidra_hw_engine> to) {
    const std::lock_guard guard(lock_);
    const uint64_t now = host_.clock_ns(host_.self);
    // The new interval begins before the old one ends: the chip stays busy between two engines of one executor.
    if (to) {
        chip_.begin(now);
        engines_[*to].begin(now);
    }
    if (from) {
        engines_[*from].end(now);
        chip_.end(now);
    }
    return now;
}

Busy::Times Busy::read() const {
    const std::lock_guard guard(lock_);
    Times times{.host_clock_ns = host_.clock_ns(host_.self), .chip_ns = 0, .engine_ns = {}};
    times.chip_ns = chip_.at(times.host_clock_ns);
    for (size_t i = 0; i < engines_.size(); i++) times.engine_ns[i] = engines_[i].at(times.host_clock_ns);
    return times;
}

}  // namespace sidra::chip
