// SPDX-License-Identifier: MIT
// Queues that wait for a semaphore word, for another queue's timeline or for readouts, indexed by that key.
#ifndef SIDRA_CHIP_PARKED_H
#define SIDRA_CHIP_PARKED_H

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "address.h"

namespace sidra::chip {

class Queue;

// A waiter enters the list and then checks the word again. A signaller stores the word and then checks the list. All
// these operations are sequentially consistent, so at least one of them sees the other.
class Parked {
   public:
    // wake() passes `epoch` (Scheduler::Pick) back, so that a queue that was reset meanwhile does not run.
    void enter(const Address& key, Queue* queue, uint32_t epoch) {
        Bucket& bucket = bucket_of(key);
        std::lock_guard guard(bucket.lock);
        bucket.waiting.push_back({key, queue, epoch});  // may throw, so before any other change
        count_.fetch_add(1);
    }

    void leave(const Address& key, Queue* queue) {
        Bucket& bucket = bucket_of(key);
        std::lock_guard guard(bucket.lock);
        count_.fetch_sub(static_cast<uint32_t>(
            std::erase_if(bucket.waiting, [&](const Entry& e) { return e.key == key && e.queue == queue; })));
    }

    bool any() const { return count_.load() != 0; }

    // Removes all waiters for the key from the list and calls wake(queue, epoch) for each. Allocates no memory, because
    // wakeups must not fail.
    template <typename F>
    void wake(const Address& key, F&& wake) {
        wake_in(
            bucket_of(key), [&key](const Entry& entry) { return entry.key == key; }, wake);
    }

    // The same for one queue, whatever key it waits for.
    template <typename F>
    void wake_queue(const Queue* queue, F&& wake) {
        for (Bucket& bucket : buckets_)
            wake_in(
                bucket, [queue](const Entry& entry) { return entry.queue == queue; }, wake);
    }

   private:
    struct Entry {
        Address key;
        Queue* queue;
        uint32_t epoch;
    };
    struct Bucket {
        std::mutex lock;  // protects waiting
        std::vector<Entry> waiting;
    };
    Bucket& bucket_of(const Address& key) { return buckets_[(key.offset >> 3 ^ key.offset >> 12) % buckets_.size()]; }

    template <typename P, typename F>
    void wake_in(Bucket& bucket, P&& matches, F&& wake) {
        std::array<Entry, 32> woken;
        size_t count;
        do {
            count = 0;
            {
                std::lock_guard guard(bucket.lock);
                std::erase_if(bucket.waiting, [&](const Entry& entry) {
                    if (count == woken.size() || !matches(entry)) return false;
                    woken[count++] = entry;
                    return true;
                });
                count_.fetch_sub(static_cast<uint32_t>(count));
            }
            for (size_t i = 0; i < count; i++) wake(*woken[i].queue, woken[i].epoch);
        } while (count == woken.size());
    }

    std::array<Bucket, 64> buckets_;
    std::atomic<uint32_t> count_{0};
};

}  // namespace sidra::chip

#endif
