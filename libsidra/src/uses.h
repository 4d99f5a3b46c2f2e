// SPDX-License-Identifier: MIT
#ifndef SIDRA_USES_H
#define SIDRA_USES_H

#include <algorithm>
#include <vector>

#include "queue.h"

namespace sidra {

// Operations that use something, which threads queue at a time: launches of a version of a graph, updates of factors.
// Not thread-safe.
class Uses {
   public:
    Uses() { points_.reserve(kQueuesUsual); }

    bool busy() const {
        return queueing_ != 0 || std::any_of(points_.begin(), points_.end(), [](const Point& point) {
                   return point.state() == Point::State::kPending;
               });
    }
    // One is about to be queued. Allocates only for more queues than ever before.
    void begin() {
        points_.reserve(points_.size() + queueing_ + 1);
        ++queueing_;
    }
    // It was queued, up to this point; null: it was not. Later ones on the same queue include it, but of several that
    // are queued at a time the last one may be the first to come here.
    void end(const Point* use) noexcept {
        --queueing_;
        if (use == nullptr) return;
        const auto at = std::find_if(points_.begin(), points_.end(), [&](const Point& point) {
            return point.epoch == use->epoch || point.state() != Point::State::kPending;
        });
        if (at == points_.end()) points_.push_back(*use);
        else if (at->epoch != use->epoch || at->value < use->value) *at = *use;
    }

   private:
    static constexpr size_t kQueuesUsual = 4;
    std::vector<Point> points_;  // the last one of each epoch of a queue
    size_t queueing_ = 0;
};

}  // namespace sidra

#endif
