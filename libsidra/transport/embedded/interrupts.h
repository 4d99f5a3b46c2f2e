// SPDX-License-Identifier: MIT
// Delivers MSI-X vectors to waiters: threads in WAIT and eventfds of ARM.
#ifndef SIDRA_EMBEDDED_INTERRUPTS_H
#define SIDRA_EMBEDDED_INTERRUPTS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "sidra_hw.h"

namespace sidra::embedded {

class ChipHost;

// A thread that sleeps until one of the timelines for which it is armed changes.
class Waiter {
   public:
    void prepare() { word_.store(0, std::memory_order_relaxed); }
    void wake();
    void sleep_until(uint64_t ns);

   private:
    std::atomic<uint32_t> word_{0};
};

// The interrupt state of a queue. Armed values are ordered; the chip holds the smallest one.
class WaitPoint {
   public:
    WaitPoint(uint32_t slot, uint32_t queue, unsigned vector, sidra_queue_state* state, uint32_t epoch)
        : slot_(slot), queue_(queue), vector_(vector), state_(state) {
        state_->epoch = epoch;
    }

    unsigned vector() const { return vector_; }
    uint64_t timeline() const { return std::atomic_ref<uint64_t>(state_->timeline).load(std::memory_order_acquire); }
    uint32_t run_state() const { return std::atomic_ref<uint32_t>(state_->run_state).load(std::memory_order_acquire); }
    // Whether the timeline can no longer advance.
    bool stopped() const {
        const uint32_t now = run_state();
        return now == SIDRA_QUEUE_FAULTED || now == SIDRA_QUEUE_LOST;
    }
    uint32_t epoch() const { return std::atomic_ref<uint32_t>(state_->epoch).load(std::memory_order_acquire); }

    enum class State { kPending, kReached, kStopped, kDropped };
    // State of a timeline point.
    State look(uint32_t epoch, uint64_t value) const;
    // Begins a new epoch at `start`; packets of the old epoch that have not retired are dropped. The driver owns the
    // state page meanwhile.
    void begin_epoch(uint32_t epoch, uint64_t start);

   private:
    friend class Interrupts;
    struct Sink {
        Waiter* waiter;  // or
        int eventfd;     // own descriptor
    };

    const uint32_t slot_, queue_;
    const unsigned vector_;
    sidra_queue_state* const state_;
    struct Ending {
        uint32_t epoch;
        uint64_t retired;
    };
    mutable std::mutex endings_lock_;  // protects the next two members
    std::array<Ending, SIDRA_QUEUE_EPOCHS_KEPT> endings_{};
    size_t ended_ = 0;                     // number of ended epochs; the latest ones are kept
    std::multimap<uint64_t, Sink> armed_;  // by value; protected by Interrupts::lock_, like the next members
    bool attached_ = false;
};

// raise() is the chip's msix callback, which only records vectors. service() does the work, as the bottom half: every
// thread that has entered the chip calls it on the way out.
class Interrupts {
   public:
    explicit Interrupts(ChipHost& host) : host_(host) {}
    ~Interrupts();

    void raise(unsigned vector) { pending_.fetch_or(vector < 32 ? 1u << vector : 0u, std::memory_order_release); }
    void service() {
        // Repeat while there are vectors: handling may program a value that was reached meanwhile, and no other thread
        // may come to handle the interrupt that this raises at once.
        while (pending_.load(std::memory_order_relaxed) != 0) [[unlikely]] handle();
    }

    void attach(WaitPoint& point);
    // Wakes all its waiters; afterwards nothing refers to it.
    void detach(WaitPoint& point);

    // Wakes the waiter, or signals the eventfd (a descriptor that the wait point will own), once when the timeline has
    // reached `value` or the queue has stopped; at once if that is already the case. Callers must call service()
    // afterwards, and check again before they sleep.
    void arm(WaitPoint& point, uint64_t value, Waiter& waiter) { arm(point, value, {&waiter, -1}); }
    void arm(WaitPoint& point, uint64_t value, int eventfd) { arm(point, value, {nullptr, eventfd}); }
    void disarm(WaitPoint& point, Waiter& waiter);
    void disarm_eventfds(WaitPoint& point, uint64_t value);

    // Checks all armed values without an interrupt, in case one was lost.
    void recheck_all();
    bool eventfds_armed() const { return eventfds_.load(std::memory_order_relaxed) != 0; }
    // Wakes all waiters, whatever the timeline is.
    void wake_all(WaitPoint& point);

   private:
    void arm(WaitPoint& point, uint64_t value, WaitPoint::Sink sink);
    void handle();
    void fire_reached(WaitPoint& point);
    void fire_all(WaitPoint& point);
    void program(const WaitPoint& point);
    void fire(const WaitPoint::Sink& sink);
    void drop_eventfd(int fd);

    ChipHost& host_;
    std::atomic<uint32_t> pending_{0};   // one bit per vector
    std::atomic<uint32_t> eventfds_{0};  // armed
    std::mutex lock_;  // protects points_ and their armed_; not held in calls from which raise() may be called, except
                       // for ARM writes
    std::array<std::vector<WaitPoint*>, SIDRA_MSIX_VECTORS> points_;
};

}  // namespace sidra::embedded

#endif
