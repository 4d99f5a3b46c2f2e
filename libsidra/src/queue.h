// SPDX-License-Identifier: MIT
// A hardware queue with its mappings, and points of its timeline. Events and callbacks keep a queue's state page
// readable after its stream was destroyed.
#ifndef SIDRA_QUEUE_H
#define SIDRA_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "context.h"
#include "fault_record.h"
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

// An epoch of a queue: from its creation or a reset to the next reset or its destruction. All its points share it, so
// that each of them can always tell whether it was reached or dropped.
class Epoch {
   public:
    explicit Epoch(uint32_t its_number) : number(its_number) {}
    const uint32_t number;  // assigned by the driver; unique in the context

    // While the driver destroys the queue, its page shows it as lost, which does not say whether points were reached.
    void set_closing(bool closing) { closing_.store(closing, std::memory_order_release); }
    bool closing() const { return closing_.load(std::memory_order_acquire); }

    enum class End { kReset, kDestroyed, kLost };
    bool ended() const { return ended_.load(std::memory_order_acquire); }
    // Called once. Points after `retired` were dropped; `fault` is the fault that had stopped the queue, if any.
    void end(End how, uint64_t retired, const sidra_fault& fault) {
        how_ = how;
        retired_ = retired;
        fault_ = fault;
        ended_.store(true, std::memory_order_release);
    }
    // Valid for an ended epoch.
    End how() const { return how_; }
    uint64_t retired() const { return retired_; }
    const sidra_fault& fault() const { return fault_; }

   private:
    std::atomic<bool> closing_{false}, ended_{false};
    End how_ = End::kReset;
    uint64_t retired_ = 0;
    sidra_fault fault_{};
};

class Queue {
   public:
    static sidra_status create(const char* call, sidra_context* context, const QueueOptions& options,
                               std::shared_ptr<Queue>* queue);
    ~Queue();

    // The state page: polled, so without checks.
    uint64_t timeline() const { return __atomic_load_n(&state->timeline, __ATOMIC_ACQUIRE); }
    uint32_t run_state() const { return __atomic_load_n(&state->run_state, __ATOMIC_ACQUIRE); }
    static bool stopped(uint32_t run_state) { return run_state >= SIDRA_QUEUE_FAULTED; }
    // Whether the timeline has reached a value of an epoch. A reset changes the page's epoch before the timeline.
    bool reached(uint32_t epoch_number, uint64_t value) const {
        return timeline() >= value && __atomic_load_n(&state->epoch, __ATOMIC_ACQUIRE) == epoch_number;
    }

    // Publishes all packets up to `index` to the chip and rings the doorbell.
    void publish(uint64_t index) {
        published = index;
        __atomic_store_n(write_word, index, __ATOMIC_RELEASE);
        transport->ring(doorbell);
    }

    // The page's fault record if the queue has faulted. The stream's lock is held.
    sidra_fault fault_record() const { return run_state() == SIDRA_QUEUE_FAULTED ? load_fault(*state) : sidra_fault{}; }
    // end_epoch(): packets that are queued and not retired were dropped. begin_epoch(): after a reset.
    void end_epoch(Epoch::End how, uint64_t retired, const sidra_fault& fault) { epoch->end(how, retired, fault); }
    void begin_epoch(uint32_t epoch_number) {
        epoch = std::make_shared<Epoch>(epoch_number);
        current_epoch.store(epoch_number, std::memory_order_release);
    }

    // The driver has already dropped the queue (and may have reused its number).
    void forget() { alive_ = false; }

    // Destroys the queue in the driver. The mappings stay until the last reference is gone.
    sidra_status destroy(const char* call);

    // Read by every submit. Written under the stream's lock; all but the last three only at creation.
    sidra_cmd* ring = nullptr;
    uint64_t mask = 0;
    uint64_t capacity = 0;
    const sidra_queue_state* state = nullptr;
    uint64_t* write_word = nullptr;
    Transport* transport = nullptr;
    uintptr_t doorbell = 0;
    std::atomic<uint64_t> written{0};  // index of the next packet
    uint64_t published = 0;            // index published to the chip
    uint64_t seen_timeline = 0;        // an earlier timeline value: a lower bound for the free space in the ring

    sidra_context* context = nullptr;
    uint32_t number = 0;  // queue number in the context
    uint32_t stream_id = 0;
    const sidra_report* reports = nullptr;
    std::shared_ptr<Epoch> epoch;            // protected by the stream's lock
    std::atomic<uint32_t> current_epoch{0};  // its number

   private:
    Queue() = default;
    bool alive_ = false;
    void* ring_memory_ = nullptr;
    uint64_t ring_size_ = 0;
};

// A point of a queue's timeline: reached when all packets of an epoch before `value` have retired.
struct Point {
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Epoch> epoch;
    uint64_t value = 0;

    // kDropped: never reached, because its epoch has ended. kStopped: never reached, because the queue has stopped.
    enum class State { kPending, kReached, kDropped, kStopped };
    State state() const {
        if (epoch->ended()) return epoch->retired() >= value ? State::kReached : State::kDropped;
        if (queue->reached(epoch->number, value)) return State::kReached;
        if (!Queue::stopped(queue->run_state())) return State::kPending;
        if (queue->reached(epoch->number, value)) return State::kReached;
        // Unknown between the end of the epoch in the driver and in the library.
        const bool same = __atomic_load_n(&queue->state->epoch, __ATOMIC_ACQUIRE) == epoch->number;
        return same && !epoch->closing() && !epoch->ended() ? State::kStopped : State::kPending;
    }
};

}  // namespace sidra

#endif
