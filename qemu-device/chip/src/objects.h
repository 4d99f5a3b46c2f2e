// SPDX-License-Identifier: MIT
// The contexts and queues of a chip. An object is created when its number is first used, and lives as long as the chip;
// `loaded` says whether it is valid.
#ifndef SIDRA_CHIP_OBJECTS_H
#define SIDRA_CHIP_OBJECTS_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "context.h"
#include "queue.h"
#include "sidra_hw.h"

namespace sidra::chip {

// Queue numbers of a chip; those of one context are adjacent.
constexpr size_t slot(uint32_t context, uint32_t queue) {
    return size_t{context} * SIDRA_QUEUES_PER_CONTEXT_MAX + queue;
}
inline constexpr size_t kSlots = size_t{SIDRA_CONTEXTS_MAX} * SIDRA_QUEUES_PER_CONTEXT_MAX;

// Keys in Parked: of all readouts, and of a queue's timeline.
inline constexpr Address kReadoutsKey{Space::kReadouts, 0};
inline Address timeline_key(uint32_t context, uint32_t queue) { return {Space::kTimeline, slot(context, queue) * 8}; }

// Any thread.
class Objects {
   public:
    Objects() : queues_(new std::atomic<Queue*>[kSlots]()) {}

    // Creates the queue and its context if need be. Throws std::bad_alloc.
    Queue& queue(uint32_t context, uint32_t queue) {
        Queue* const known = find(slot(context, queue));
        return known ? *known : create(context, queue);
    }
    // Null if there is no such object.
    Queue* find(size_t slot) const { return queues_[slot].load(std::memory_order_acquire); }
    Context* find_context(uint64_t context) const { return contexts_[context].load(std::memory_order_acquire); }

    template <typename F>
    void for_each_queue(F&& visit) const {
        for (size_t i = 0; i < kSlots; i++)
            if (Queue* queue = find(i)) visit(*queue);
    }
    template <typename F>
    void for_each_context(F&& visit) const {
        for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++)
            if (Context* context = find_context(i)) visit(*context);
    }

   private:
    Queue& create(uint32_t context, uint32_t queue);

    std::array<std::atomic<Context*>, SIDRA_CONTEXTS_MAX> contexts_{};
    const std::unique_ptr<std::atomic<Queue*>[]> queues_;
    std::mutex lock_;  // protects creation
    std::vector<std::unique_ptr<Context>> owned_contexts_;
    std::vector<std::unique_ptr<Queue>> owned_queues_;
};

}  // namespace sidra::chip

#endif
