// SPDX-License-Identifier: MIT
// A hardware queue in the driver: ring memory, state page, waiters.
#ifndef SIDRA_EMBEDDED_QUEUE_H
#define SIDRA_EMBEDDED_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "host_memory.h"
#include "interrupts.h"
#include "sidra_accel.h"
#include "watchdog.h"

namespace sidra::embedded {

// Layout of the ring memory of a queue.
struct RingLayout {
    explicit RingLayout(uint32_t ring_log2, bool reports)
        : packets(uint64_t{SIDRA_CMD_SIZE} << ring_log2),
          write_index(packets),
          report(write_index + SIDRA_PAGE_SIZE),
          size(report + (reports ? page_ceil(uint64_t{sizeof(sidra_report)} << ring_log2) : 0)) {}

    bool has_reports() const { return size > report; }

    uint64_t packets;      // bytes of packets, from offset 0
    uint64_t write_index;  // offset of its page
    uint64_t report;       // offset of the reports, if any
    uint64_t size;
};

// Shared by the context's table of queues and by waiting threads; mappings also share the ring memory and the state
// page.
struct Queue {
    Queue(uint32_t slot, uint32_t its_number, uint32_t its_kind, uint32_t its_log2, uint32_t its_priority, bool reports,
          unsigned vector, std::shared_ptr<StatePages::Page> its_state, uint32_t epoch)
        : number(its_number),
          kind(its_kind),
          ring_log2(its_log2),
          priority(its_priority),
          layout(its_log2, reports),
          ring(std::make_shared<HostMemory>(layout.size, HostMemory::Fork::kDrop)),
          state(std::move(its_state)),
          point(slot, number, vector, state->state(), epoch) {}

    uint64_t capacity() const { return uint64_t{1} << ring_log2; }
    uint64_t load_write_index() const {
        return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(ring->data() + layout.write_index))
            .load(std::memory_order_acquire);
    }
    void store_write_index(uint64_t value) {
        std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(ring->data() + layout.write_index))
            .store(value, std::memory_order_release);
    }

    const uint32_t number;
    const uint32_t kind;  // enum sidra_queue_kind
    const uint32_t ring_log2;
    const uint32_t priority;
    const RingLayout layout;
    const std::shared_ptr<HostMemory> ring;
    const std::shared_ptr<StatePages::Page> state;
    uint64_t ring_va = 0;  // user queue: device address of the ring memory
    std::atomic<bool> destroyed{false};
    WaitPoint point;
    std::mutex submit_lock;  // protects writes of SUBMIT to the ring of a kernel queue
    QueueWatch watch;        // protected by the driver's lock
};

}  // namespace sidra::embedded

#endif
