// SPDX-License-Identifier: MIT
// Loads contexts and queues from the driver's tables, and shows their states to software.
#ifndef SIDRA_CHIP_LOADER_H
#define SIDRA_CHIP_LOADER_H

#include <atomic>
#include <cstdint>

#include "arms.h"
#include "dma.h"
#include "knobs.h"
#include "objects.h"
#include "parked.h"
#include "scheduler.h"
#include "wakeups.h"

namespace sidra::chip {

class Loader {
   public:
    Loader(Bus& bus, Knobs& knobs, Scheduler& scheduler, Parked& parked, Wakeups& wakeups, Arms& arms)
        : bus_(bus), knobs_(knobs), scheduler_(scheduler), parked_(parked), wakeups_(wakeups), arms_(arms) {}

    // ---- Any thread.

    // The register with the bus address of the table of contexts; 0: none.
    void set_context_table(uint64_t value) { context_table_.store(value & ~uint64_t{SIDRA_PAGE_SIZE - 1}); }
    // Returns false if there is no valid entry.
    bool read_entry(const Context& context, sidra_hw_context* entry);
    uint32_t loaded_queues() const { return loaded_queues_.load(std::memory_order_relaxed); }
    // Counts another loaded queue. Returns false if as many are loaded as the chip can have.
    bool count_queue();

    // ---- The caller has claimed the queue, or it is stopped and drained.

    // Loads the current table entry; without a valid entry returns false and unloads the queue. Needs the claim.
    bool load(Queue& queue) { return is_current(queue) || load_entry(queue); }
    // Unloads a queue whose entry is gone, or which is reset.
    void unload(Queue& queue);
    bool write_run_state(const Queue& queue, uint32_t run_state);

   private:
    static bool is_current(const Queue& queue) {
        return queue.loaded.load(std::memory_order_relaxed) && !queue.recheck.load(std::memory_order_relaxed) &&
               queue.context.loaded.load(std::memory_order_acquire);
    }
    bool load_entry(Queue& queue);
    bool load_entry(Context& context);
    bool read_entry(const Context& context, uint32_t id, sidra_hw_queue* entry);

    Bus& bus_;
    Knobs& knobs_;
    Scheduler& scheduler_;
    Parked& parked_;
    Wakeups& wakeups_;
    Arms& arms_;
    std::atomic<uint64_t> context_table_{0};
    std::atomic<uint32_t> loaded_queues_{0};
};

}  // namespace sidra::chip

#endif
