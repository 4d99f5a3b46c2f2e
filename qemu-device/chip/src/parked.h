// SPDX-License-Identifier: MIT
// Queues that wait for a semaphore word or for another queue's timeline, by what they wait for.
#ifndef SIDRA_CHIP_PARKED_H
#define SIDRA_CHIP_PARKED_H

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace sidra::chip {

class Queue;

// Who parks enters the list first and looks at the word again afterwards; who signals stores the word first and looks at the list
// afterwards, both in the one order of all sequentially consistent operations. So one of them sees the other.
class Parked {
   public:
    void enter(uint64_t key, Queue* queue) {
        count_.fetch_add(1);
        Bucket& bucket = bucket_of(key);
        std::lock_guard guard(bucket.lock);
        bucket.waiting.emplace_back(key, queue);
    }

    // Whether it was there.
    bool leave(uint64_t key, Queue* queue) {
        Bucket& bucket = bucket_of(key);
        std::lock_guard guard(bucket.lock);
        if (std::erase(bucket.waiting, std::pair{key, queue}) == 0) return false;
        count_.fetch_sub(1);
        return true;
    }

    bool any() const { return count_.load() != 0; }

    // Calls wake(queue) for everyone who waits for the key and takes them off the list.
    template <typename F>
    void wake(uint64_t key, F&& wake) {
        std::vector<Queue*> woken;
        {
            Bucket& bucket = bucket_of(key);
            std::lock_guard guard(bucket.lock);
            std::erase_if(bucket.waiting, [&](const auto& entry) {
                if (entry.first != key) return false;
                woken.push_back(entry.second);
                return true;
            });
        }
        count_.fetch_sub(static_cast<uint32_t>(woken.size()));
        for (Queue* queue : woken) wake(queue);
    }

   private:
    struct Bucket {
        std::mutex lock;  // of waiting
        std::vector<std::pair<uint64_t, Queue*>> waiting;
    };
    Bucket& bucket_of(uint64_t key) { return buckets_[(key >> 3 ^ key >> 12) % buckets_.size()]; }

    std::array<Bucket, 64> buckets_;
    std::atomic<uint32_t> count_{0};
};

}  // namespace sidra::chip

#endif
