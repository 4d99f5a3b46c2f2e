// SPDX-License-Identifier: MIT
// From MSI-X vectors to whoever waits: threads in WAIT and eventfds of ARM.
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

// A thread that sleeps until one of the timelines it is armed for moves.
class Waiter {
   public:
    void prepare() { word_.store(0, std::memory_order_relaxed); }
    void wake();
    void sleep_until(uint64_t ns);

   private:
    std::atomic<uint32_t> word_{0};
};

// The part of a queue that interrupts deal with. The values that are armed for it wait in order; the chip holds the
// smallest.
class WaitPoint {
   public:
    WaitPoint(uint32_t slot, uint32_t queue, unsigned vector, sidra_queue_state* state, uint32_t epoch)
        : slot_(slot), queue_(queue), vector_(vector), state_(state) {
        state_->epoch = epoch;
    }

    unsigned vector() const { return vector_; }
    uint64_t timeline() const { return std::atomic_ref<uint64_t>(state_->timeline).load(std::memory_order_acquire); }
    uint32_t run_state() const { return std::atomic_ref<uint32_t>(state_->run_state).load(std::memory_order_acquire); }
    // It will not move any more by itself.
    bool stopped() const {
        const uint32_t now = run_state();
        return now == SIDRA_QUEUE_FAULTED || now == SIDRA_QUEUE_LOST;
    }
    uint32_t epoch() const { return std::atomic_ref<uint32_t>(state_->epoch).load(std::memory_order_acquire); }

    enum class State { kPending, kReached, kStopped, kDropped };
    // Of a point of its timeline.
    State look(uint32_t epoch, uint64_t value) const;
    // Another epoch begins at `start`; what the one that ends has not retired is dropped. The state page is the
    // driver's meanwhile.
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
    mutable std::mutex endings_lock_;  // of the next two
    std::array<Ending, SIDRA_QUEUE_EPOCHS_KEPT> endings_{};
    size_t ended_ = 0;                     // so far; the last ones are kept
    std::multimap<uint64_t, Sink> armed_;  // by value; under Interrupts::lock_, as the next
    bool attached_ = false;
};

// raise() is the chip's msix callback and only records. The work is done by service(), which every thread that entered
// the chip calls when it has come out: this driver's bottom half.
class Interrupts {
   public:
    explicit Interrupts(ChipHost& host) : host_(host) {}
    ~Interrupts();

    void raise(unsigned vector) { pending_.fetch_or(vector < 32 ? 1u << vector : 0u, std::memory_order_release); }
    void service() {
        // Again while there are some: handling may program a value that has been reached by then, and nobody else need
        // come to see the interrupt that this raises at once.
        while (pending_.load(std::memory_order_relaxed) != 0) [[unlikely]] handle();
    }

    void attach(WaitPoint& point);
    // Wakes all who wait for it; nobody refers to it afterwards.
    void detach(WaitPoint& point);

    // Wakes the waiter, or signals the eventfd (a descriptor whose ownership goes to the wait point), once when the
    // timeline has reached `value` or the queue has stopped; at once if that is so. Callers call service() afterwards,
    // and look again before they sleep.
    void arm(WaitPoint& point, uint64_t value, Waiter& waiter) { arm(point, value, {&waiter, -1}); }
    void arm(WaitPoint& point, uint64_t value, int eventfd) { arm(point, value, {nullptr, eventfd}); }
    void disarm(WaitPoint& point, Waiter& waiter);
    void disarm_eventfds(WaitPoint& point, uint64_t value);

    // Looks at what is armed, without an interrupt: one may have been lost.
    void recheck_all();
    bool eventfds_armed() const { return eventfds_.load(std::memory_order_relaxed) != 0; }
    // All of it fires, whatever the timeline says.
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
    std::atomic<uint32_t> pending_{0};   // a bit a vector
    std::atomic<uint32_t> eventfds_{0};  // armed
    std::mutex lock_;  // of points_ and of armed_ of each; never held in a call that raise() comes from, but ARM writes
    std::array<std::vector<WaitPoint*>, SIDRA_MSIX_VECTORS> points_;
};

}  // namespace sidra::embedded

#endif
