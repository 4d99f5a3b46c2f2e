// SPDX-License-Identifier: MIT
// The epochs of one queue number, and how the former ones ended: what tells a packet that has retired from one that was
// dropped.
#ifndef SIDRA_CHIP_EPOCHS_H
#define SIDRA_CHIP_EPOCHS_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "sidra_hw.h"

namespace sidra::chip {

// Where a failure began that every queue inherits which depends on it.
struct Root {
    uint64_t sequence = 0;
    uint32_t queue = 0;
    uint32_t epoch = 0;
    uint16_t cause = SIDRA_FAULT_NONE;
};

class Epochs {
   public:
    struct Ending {
        uint32_t epoch;
        uint64_t retired;  // the timeline then: what is beyond it was dropped
        Root root;
    };
    enum class State { kPending, kReached, kFailed, kUnknown };

    uint32_t current() const { return current_.load(); }
    uint64_t timeline() const { return timeline_.load(); }
    // By the thread that runs the queue.
    void publish(uint64_t timeline) { timeline_.store(timeline); }

    // A new one begins. One before it that did not end by a reset ends here. Nobody takes the timeline of the new one
    // for the old one's: while it changes there is no current epoch.
    void begin(uint32_t epoch, uint64_t timeline, uint32_t queue) {
        const uint32_t former = current();
        if (former != 0 && former != epoch) end(former, {this->timeline(), queue, former, SIDRA_FAULT_RESET});
        current_.store(0);
        timeline_.store(timeline);
        current_.store(epoch);
    }

    // What was dropped was so because of `root`. The first end of an epoch counts: a queue that has faulted is reset
    // later.
    void end(uint32_t epoch, const Root& root) noexcept {
        const std::lock_guard guard(lock_);
        if (find(epoch) != nullptr) return;
        try {
            if (endings_.size() == SIDRA_QUEUE_EPOCHS_KEPT) endings_.erase(endings_.begin());
            endings_.push_back({epoch, epoch == current() ? timeline() : 0, root});
        } catch (const std::bad_alloc&) {  // then who waits for it does not find it, and fails
        }
    }

    // Of a point of an epoch. Of a failed one also where the failure began.
    State look(uint32_t epoch, uint64_t value, Root* root) {
        if (current() == epoch) {
            const bool reached = timeline() >= value;
            if (reached && current() == epoch) return State::kReached;
        }
        const std::lock_guard guard(lock_);
        if (const Ending* ending = find(epoch)) {
            *root = ending->root;
            return ending->retired >= value ? State::kReached : State::kFailed;
        }
        return current() == epoch ? State::kPending : State::kUnknown;
    }

    void clear() {
        const std::lock_guard guard(lock_);
        current_.store(0);
        endings_.clear();
        endings_.shrink_to_fit();
    }

    // Of a chip that is saved or loaded: nobody else calls it meanwhile.
    const std::vector<Ending>& endings() const { return endings_; }
    bool restore(const Ending& ending) {
        if (endings_.size() == SIDRA_QUEUE_EPOCHS_KEPT || find(ending.epoch) != nullptr) return false;
        endings_.push_back(ending);
        return true;
    }

   private:
    const Ending* find(uint32_t epoch) const {
        const auto found =
            std::find_if(endings_.begin(), endings_.end(), [epoch](const Ending& e) { return e.epoch == epoch; });
        return found == endings_.end() ? nullptr : &*found;
    }

    std::atomic<uint32_t> current_{0};   // 0: none was loaded yet
    std::atomic<uint64_t> timeline_{0};  // of the current one, as published
    mutable std::mutex lock_;            // of endings_
    std::vector<Ending> endings_;        // oldest first
};

}  // namespace sidra::chip

#endif
