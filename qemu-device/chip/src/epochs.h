// SPDX-License-Identifier: MIT
// The epochs of a queue number, with the ends of former epochs. They tell whether a packet has retired or was dropped.
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

// The origin of a failure that all dependent queues inherit.
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
        uint64_t retired;  // timeline value at the end; later packets were dropped
        Root root;
    };
    enum class State { kPending, kReached, kFailed, kUnknown };

    uint32_t current() const { return current_.load(); }
    uint64_t timeline() const { return timeline_.load(); }
    // Called by the thread that runs the queue.
    void publish(uint64_t timeline) { timeline_.store(timeline); }

    // Begins a new epoch, and ends the previous one if no reset did. There is no current epoch during the change, so
    // that the new timeline is not taken for one of the old epoch.
    void begin(uint32_t epoch, uint64_t timeline, uint32_t queue) {
        const uint32_t former = current();
        if (former != 0 && former != epoch) end(former, {this->timeline(), queue, former, SIDRA_FAULT_RESET});
        current_.store(0);
        timeline_.store(timeline);
        current_.store(epoch);
    }

    // Records the reason for dropping packets. The first end of an epoch counts: a faulted queue is reset later.
    void end(uint32_t epoch, const Root& root) noexcept {
        const std::lock_guard guard(lock_);
        if (find(epoch) != nullptr) return;
        try {
            if (endings_.size() == SIDRA_QUEUE_EPOCHS_KEPT) endings_.erase(endings_.begin());
            endings_.push_back({epoch, epoch == current() ? timeline() : 0, root});
        } catch (const std::bad_alloc&) {  // a waiter then does not find the epoch and fails
        }
    }

    // The state of a timeline point of an epoch, and the root of its failure.
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

    // For saving and loading; no other call may run.
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

    std::atomic<uint32_t> current_{0};   // 0: no epoch yet
    std::atomic<uint64_t> timeline_{0};  // of the current epoch, as published
    mutable std::mutex lock_;            // protects endings_
    std::vector<Ending> endings_;        // oldest first
};

}  // namespace sidra::chip

#endif
