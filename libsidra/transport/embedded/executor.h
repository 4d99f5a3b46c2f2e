// SPDX-License-Identifier: MIT
// The thread that runs the chip when no other thread waits for it, so that submitted work always completes.
#ifndef SIDRA_EMBEDDED_EXECUTOR_H
#define SIDRA_EMBEDDED_EXECUTOR_H

#include <atomic>
#include <cstdint>
#include <thread>

namespace sidra::embedded {

// The device that an executor runs.
class Runnable {
   public:
    virtual bool run() = 0;       // one slice of work; false: no work
    virtual bool pending() = 0;   // whether run() would find work
    virtual uint64_t idle() = 0;  // called before sleeping; returns the maximum time in ns
    virtual void tick() {}        // called after each nap

   protected:
    ~Runnable() = default;
};

// RUNNING: calls run() until there is no work, then polls for some microseconds.
// NAPPING: short timed sleeps while the device was active within the last milliseconds. A submission then costs its
//   thread one load and no system call. While other threads help (they wait for results and run the chip themselves),
//   naps leave the work to them.
// ASLEEP:  sleeps until a kick, which costs the kicker one system call. An idle chip uses no CPU time.
class Executor {
   public:
    explicit Executor(Runnable& device) : device_(device) {}
    ~Executor() { stop(); }
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Creates the thread on first need; returns false if that fails. Callers serialise start and stop.
    bool start();
    void stop();

    // Work may be pending: makes sure that it is found. Any thread; only waking from ASLEEP makes a system call.
    void kick() {
        // Dekker's algorithm with sleep(): the kicker has stored "work is pending" (inside the chip) and now loads our
        // state; sleep() stores its state and then loads "work is pending". With a full fence between store and load on
        // both sides, at least one of the two sees the other: either we wake it, or it does not go to sleep.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (state_.load(std::memory_order_relaxed) == kAsleep) [[unlikely]]
            wake();
    }

    // Called when another thread has done a slice of work.
    void note_help() {
        if (!helped_.load(std::memory_order_relaxed))
            helped_.store(true, std::memory_order_relaxed);  // mostly a shared read
    }

    // Also ends a nap: for a thread that goes to sleep and leaves work behind.
    void nudge();

    bool asleep() const { return state_.load(std::memory_order_relaxed) == kAsleep; }

   private:
    enum State : uint32_t { kNone, kRunning, kNapping, kAsleep };
    enum class Sleep { kRefused, kOver, kWoken };  // over: by its time

    void loop();
    bool work();
    bool rest(State state, uint64_t until_ns);
    Sleep sleep();
    void wake();
    bool stopping() const { return stop_.load(std::memory_order_relaxed); }

    Runnable& device_;
    alignas(64) std::atomic<uint32_t> state_{kNone};
    alignas(64) std::atomic<bool> helped_{false};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace sidra::embedded

#endif
