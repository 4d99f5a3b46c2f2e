// SPDX-License-Identifier: MIT
#include "adcs.h"

#include <algorithm>
#include <cstdlib>

#include "offset.h"

namespace sidra::chip {

// Two passes: in the first the range must cover the whole offset, so its codes are coarse; the second measures the rest
// to one unit. (Each calibration reads with the same noise; this cannot be seen in a result in whole units.)
Adcs::Found Adcs::calibrate(uint32_t first, uint32_t count, std::optional<uint64_t> seed) {
    constexpr uint32_t kPasses = 2;
    constexpr physics::ReadoutParameters kParameters{};
    const int64_t offset = offset_.load(std::memory_order_relaxed);
    Found found{};
    for (uint32_t xbar = first; xbar < first + count; xbar++) {
        int64_t measured = 0;
        for (uint32_t pass = 0; pass < kPasses; pass++) {
            const int64_t rest = offset - measured;
            if (seed) {
                constexpr uint32_t kEach = kReads / kPasses;
                measured +=
                    physics::read_offset(kParameters, {*seed, xbar, pass * kEach, kEach}, static_cast<double>(rest));
            } else {
                measured += rest;
            }
        }
        const auto next = static_cast<int32_t>(std::clamp<int64_t>(-measured, -kTrimMax, kTrimMax));
        found.changed += next != trim(xbar);
        found.beyond += at_end(next);
        found.worst = std::max(found.worst, static_cast<uint32_t>(std::llabs(measured)));
        set_trim(xbar, next);
    }
    return found;
}

bool Adcs::set_trim(uint32_t xbar, int32_t trim) {
    if (xbar >= trims_.size() || trim < -kTrimMax || trim > kTrimMax) return false;
    const int32_t before = trims_[xbar].exchange(trim, std::memory_order_relaxed);
    trimmed_.fetch_add(uint32_t{trim != 0} - uint32_t{before != 0}, std::memory_order_relaxed);
    beyond_.fetch_add(uint32_t{at_end(trim)} - uint32_t{at_end(before)}, std::memory_order_relaxed);
    return true;
}

void Adcs::clear() {
    for (auto& trim : trims_) trim.store(0, std::memory_order_relaxed);
    trimmed_.store(0, std::memory_order_relaxed);
    beyond_.store(0, std::memory_order_relaxed);
}

}  // namespace sidra::chip
