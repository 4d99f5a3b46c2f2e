// SPDX-License-Identifier: MIT
// A hardware queue and its mappings, and places in its timeline. Events and callbacks keep a queue's state page
// readable after its stream is gone.
#ifndef SIDRA_QUEUE_H
#define SIDRA_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "context.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"
#include "status.h"
#include "transport.h"

namespace sidra {

struct QueueOptions {
    uint32_t priority = SIDRA_PRIORITY_NORMAL;  // enum sidra_priority
    uint32_t ring_log2 = 10;
    bool reports = false;
};

class Queue {
   public:
    static sidra_status create(const char* call, sidra_context* context, const QueueOptions& options,
                               std::shared_ptr<Queue>* queue);
    ~Queue();

    // The state page: polled, so without any check.
    uint64_t timeline() const { return __atomic_load_n(&state->timeline, __ATOMIC_ACQUIRE); }
    uint32_t run_state() const { return __atomic_load_n(&state->run_state, __ATOMIC_ACQUIRE); }
    static bool stopped(uint32_t run_state) { return run_state >= SIDRA_QUEUE_FAULTED; }

    // Shows the chip all packets up to `index`, and tells it.
    void publish(uint64_t index) {
        published = index;
        __atomic_store_n(write_word, index, __ATOMIC_RELEASE);
        transport->ring(doorbell);
    }

    // What is queued will not run: places before now count as dropped.
    void drop_all() { epoch.fetch_add(1, std::memory_order_release); }

    // The driver has dropped the queue by itself (and may have given its number to another one).
    void forget() { alive_ = false; }

    // Ends the queue in the driver. The mappings stay until the last reference goes.
    sidra_status destroy(const char* call);

    // Read by every submit. Written under the stream's lock, once at creation but for the last three.
    sidra_cmd* ring = nullptr;
    uint64_t mask = 0;
    uint64_t capacity = 0;
    const sidra_queue_state* state = nullptr;
    uint64_t* write_word = nullptr;
    Transport* transport = nullptr;
    uintptr_t doorbell = 0;
    std::atomic<uint64_t> written{0};  // index of the next packet
    uint64_t published = 0;            // what the chip was shown
    uint64_t seen_timeline = 0;        // a past value: how much of the ring is free at least

    sidra_context* context = nullptr;
    uint32_t number = 0;  // in the context
    uint32_t stream_id = 0;
    const sidra_report* reports = nullptr;
    std::atomic<uint32_t> epoch{0};

   private:
    Queue() = default;
    bool alive_ = false;
    void* ring_memory_ = nullptr;
    uint64_t ring_size_ = 0;
};

// A place in the timeline of a queue: everything before `value`.
struct Point {
    std::shared_ptr<Queue> queue;
    uint32_t epoch = 0;
    uint64_t value = 0;

    enum class State { kPending, kReached, kDropped, kStopped };
    State state() const {
        if (queue->epoch.load(std::memory_order_acquire) != epoch) return State::kDropped;
        if (queue->timeline() >= value) return State::kReached;
        if (Queue::stopped(queue->run_state())) return queue->timeline() >= value ? State::kReached : State::kStopped;
        return State::kPending;
    }
};

}  // namespace sidra

#endif
