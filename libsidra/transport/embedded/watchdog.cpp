// SPDX-License-Identifier: MIT
#include "watchdog.h"

#include <algorithm>

namespace sidra::embedded {

QueueWatch::Verdict QueueWatch::look(const QueueSight& sight, uint64_t device_ns, uint64_t limit_ns) {
    const uint64_t step = std::min(device_ns - looked_ns_, kStepNs);
    looked_ns_ = device_ns;
    if (!sight.work || sight.progress != progress_) {
        progress_ = sight.progress;
        looks_ = 0;
        return Verdict::kFine;
    }
    if (++looks_ < kSuspiciousLooks) return Verdict::kFine;
    if (looks_ == kSuspiciousLooks) {
        standing_ns_ = 0;
        return Verdict::kSuspicious;
    }
    standing_ns_ += step;
    return standing_ns_ > limit_ns ? Verdict::kHung : Verdict::kFine;
}

}  // namespace sidra::embedded
