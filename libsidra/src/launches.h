// SPDX-License-Identifier: MIT
#ifndef SIDRA_LAUNCHES_H
#define SIDRA_LAUNCHES_H

#include <algorithm>
#include <vector>

#include "queue.h"

namespace sidra {

// The launches of a version of a graph, which the device may still read. Not thread-safe.
class Launches {
   public:
    Launches() { points_.reserve(kQueuesUsual); }

    bool busy() const {
        return queueing_ != 0 || std::any_of(points_.begin(), points_.end(), [](const Point& point) {
                   return point.state() == Point::State::kPending;
               });
    }
    // A launch is about to be queued. Allocates only for more queues than ever before.
    void begin() {
        points_.reserve(points_.size() + queueing_ + 1);
        ++queueing_;
    }
    // It was queued, up to this point; null: it was not. Later launches on the same queue include it, but of several
    // that are queued at a time the last one may be the first to come here.
    void end(const Point* launch) noexcept {
        --queueing_;
        if (launch == nullptr) return;
        const auto at = std::find_if(points_.begin(), points_.end(), [&](const Point& point) {
            return point.epoch == launch->epoch || point.state() != Point::State::kPending;
        });
        if (at == points_.end()) points_.push_back(*launch);
        else if (at->epoch != launch->epoch || at->value < launch->value) *at = *launch;
    }

   private:
    static constexpr size_t kQueuesUsual = 4;
    std::vector<Point> points_;  // the last one of each epoch of a queue
    size_t queueing_ = 0;
};

}  // namespace sidra

#endif
