// SPDX-License-Identifier: MIT
// The values of timelines at which software wants an interrupt (ARM).
#ifndef SIDRA_CHIP_ARMS_H
#define SIDRA_CHIP_ARMS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "interrupts.h"
#include "objects.h"

namespace sidra::chip {

// Any thread.
class Arms {
   public:
    explicit Arms(Interrupts& interrupts) : interrupts_(interrupts), values_(new std::atomic<uint64_t>[kSlots]()) {}

    uint64_t value(size_t slot) const { return values_[slot].load(); }  // 0: not armed
    void set(size_t slot, uint64_t value) { values_[slot].store(value); }

    // Raises the vector of a queue that has reached its armed value. Called after storing the timeline and after
    // set(). All these operations are sequentially consistent, so at least one of the two calls sees the other's store.
    void check(const Queue& queue) {
        std::atomic<uint64_t>& armed = values_[slot(queue.context.id, queue.id)];
        uint64_t value = armed.load();
        if (value == 0 || queue.epochs.timeline() < value) return;
        if (armed.compare_exchange_strong(value, 0)) interrupts_.raise(queue.vector.load(std::memory_order_relaxed));
    }

    void clear() {
        for (size_t i = 0; i < kSlots; i++)
            if (values_[i].load(std::memory_order_relaxed)) values_[i].store(0);
    }

   private:
    Interrupts& interrupts_;
    const std::unique_ptr<std::atomic<uint64_t>[]> values_;  // by slot
};

}  // namespace sidra::chip

#endif
