// SPDX-License-Identifier: MIT
// How many queues have units in an engine that completes later, and who waits for them.
#ifndef SIDRA_CHIP_IN_FLIGHT_H
#define SIDRA_CHIP_IN_FLIGHT_H

#include <atomic>
#include <cstdint>

namespace sidra::chip {

// Any thread.
class InFlight {
   public:
    void begin() { queues_.fetch_add(1); }
    void end() {
        queues_.fetch_sub(1);
        queues_.notify_all();
    }

    bool any() const { return queues_.load() != 0; }
    // Waits until there is none.
    void settle() {
        uint32_t left = queues_.load();
        if (left == 0) return;
        waiters_.fetch_add(1);
        for (; left != 0; left = queues_.load()) queues_.wait(left);
        waiters_.fetch_sub(1);
    }
    // Threads in settle() that have seen any.
    uint32_t waiters() const { return waiters_.load(); }

   private:
    std::atomic<uint32_t> queues_{0};
    std::atomic<uint32_t> waiters_{0};
};

}  // namespace sidra::chip

#endif
