// SPDX-License-Identifier: MIT
// Decides which queue runs next: doorbells set ready bits; (context, priority) pairs share the chip by weighted
// round-robin at slice boundaries.
#ifndef SIDRA_CHIP_SCHEDULER_H
#define SIDRA_CHIP_SCHEDULER_H

#include <array>
#include <atomic>
#include <cstdint>

#include "sidra_hw.h"
#include "spin.h"

namespace sidra::chip {

class Scheduler {
   public:
    struct Pick {
        uint32_t context;
        uint32_t queue;
        uint32_t priority;
        uint32_t epoch;
    };

    Scheduler() { clear(); }

    // Lock-free. Returns true if the queue was not ready before.
    bool mark_ready(uint32_t context, uint32_t queue);
    // After a reset of the queue: discards earlier doorbells, including one that was picked but not yet acted on.
    void forget(uint32_t context, uint32_t queue);
    bool stale(uint32_t context, uint32_t queue, uint32_t epoch) const {
        return epochs_[context][queue].load() != epoch;
    }
    // As mark_ready(), but has no effect if the queue was reset after `epoch`.
    bool mark_ready_again(uint32_t context, uint32_t queue, uint32_t epoch);
    // Picks the queue that is next by its share. Returns false if none is ready.
    bool pick(Pick* pick);
    // Charges `work` (estimated ns) to the picked queue.
    void charge(const Pick& pick, uint64_t work);
    // Whether a queue other than the given one is ready.
    bool any_ready(uint32_t except_context = SIDRA_CONTEXTS_MAX, uint32_t except_queue = 0) const;

    uint32_t priority(uint32_t context, uint32_t queue) const {
        return priority_[context][queue].load(std::memory_order_relaxed);
    }
    bool ready(uint32_t context, uint32_t queue) const {
        for (const auto& priority : entities_)
            if (priority[context].ready[queue / 64].load() >> (queue % 64) & 1) return true;
        return false;
    }
    void set_priority(uint32_t context, uint32_t queue, uint32_t priority) {
        priority_[context][queue].store(static_cast<uint8_t>(priority), std::memory_order_relaxed);
    }
    // Clears all ready bits and sets all queues to normal priority.
    void clear();

   private:
    static constexpr uint32_t kWords = SIDRA_QUEUES_PER_CONTEXT_MAX / 64;
    static constexpr uint64_t kWeights[SIDRA_PRIORITIES] = {1, 4, 16};

    // The queues of one context and priority.
    struct Entity {
        std::array<std::atomic<uint64_t>, kWords> ready{};
        uint64_t pass = 0;  // work / weight so far; protected by lock_
        uint32_t last = 0;  // queue picked last; protected by lock_
    };

    bool take(Entity& entity, uint32_t* queue);

    std::array<std::array<Entity, SIDRA_CONTEXTS_MAX>, SIDRA_PRIORITIES> entities_;
    std::array<std::atomic<uint64_t>, SIDRA_PRIORITIES>
        contexts_{};  // contexts with ready bits; may contain extra bits, but misses none
    std::array<std::array<std::atomic<uint8_t>, SIDRA_QUEUES_PER_CONTEXT_MAX>, SIDRA_CONTEXTS_MAX> priority_{};
    std::array<std::array<std::atomic<uint32_t>, SIDRA_QUEUES_PER_CONTEXT_MAX>, SIDRA_CONTEXTS_MAX>
        epochs_{};           // number of resets; changed under lock_
    engine::SpinLock lock_;  // serializes picking and charging
    uint64_t now_ = 0;       // pass of the entity picked last; protected by lock_
};

}  // namespace sidra::chip

#endif
