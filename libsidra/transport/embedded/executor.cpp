// SPDX-License-Identifier: MIT
#include "executor.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

#include "futex.h"

namespace sidra::embedded {
namespace {

constexpr uint64_t kSpinNs = 10'000;        // time of polling after work, before the first nap
constexpr uint64_t kNapNs = 50'000;         // plus the kernel's timer slack, about as much again
constexpr uint64_t kHelpedNapNs = 800'000;  // while other threads do the work
constexpr uint64_t kNapMaxNs = 10'000'000;  // while work is pending that no thread can run (engines are stalled)
constexpr uint64_t kLingerNs = 3'000'000;   // time of napping after the last work
constexpr unsigned kDeferMax = 4;           // consecutive naps that leave pending work to helpers

}  // namespace

bool Executor::start() {
    if (thread_.joinable()) return true;
    stop_.store(false, std::memory_order_relaxed);
    state_.store(kRunning, std::memory_order_relaxed);
    // Signals are for the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread(&Executor::loop, this);
    } catch (const std::system_error&) {
        state_.store(kNone, std::memory_order_relaxed);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!thread_.joinable()) return false;
    pthread_setname_np(thread_.native_handle(), "sidra-executor");
    return true;
}

void Executor::stop() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_seq_cst);
    while (state_.load(std::memory_order_seq_cst) != kNone) {
        nudge();
        std::this_thread::yield();
    }
    thread_.join();
}

void Executor::wake() {
    uint32_t expected = kAsleep;
    if (state_.compare_exchange_strong(expected, kRunning, std::memory_order_relaxed)) futex_wake_one(state_);
}

void Executor::nudge() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // as in kick()
    uint32_t seen = state_.load(std::memory_order_relaxed);
    if ((seen == kNapping || seen == kAsleep) &&
        state_.compare_exchange_strong(seen, kRunning, std::memory_order_relaxed))
        futex_wake_one(state_);
}

// Returns whether another thread ended it.
bool Executor::rest(State state, uint64_t until_ns) {
    futex_wait_until(state_, state, until_ns);
    return state_.exchange(kRunning, std::memory_order_relaxed) != state;
}

// Goes to sleep unless work is pending. kick() explains why no wakeup is lost.
Executor::Sleep Executor::sleep() {
    const uint64_t at_most = device_.idle();
    state_.store(kAsleep, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (device_.pending() || stopping()) {
        state_.store(kRunning, std::memory_order_relaxed);
        return Sleep::kRefused;
    }
    return rest(kAsleep, monotonic_ns() + at_most) ? Sleep::kWoken : Sleep::kOver;
}

// Runs all pending work, then polls for a moment, because a fast submitter brings more. Returns whether it found any.
bool Executor::work() {
    bool found = false;
    for (uint64_t idle_since = 0; !stopping();) {
        if (device_.run()) {
            found = true;
            idle_since = 0;
            // Helpers run the queues, and there is no other work: two threads for one queue only slow each other down.
            if (helped_.load(std::memory_order_relaxed) && !device_.pending()) break;
            continue;
        }
        if (!found || helped_.load(std::memory_order_relaxed)) break;
        const uint64_t now = monotonic_ns();
        if (idle_since == 0) idle_since = now;
        if (now - idle_since > kSpinNs) break;
        for (unsigned i = 0; i < 32 && !device_.pending(); i++) cpu_relax();
    }
    return found;
}

void Executor::loop() {
    uint64_t active = monotonic_ns();
    uint64_t nap = kNapNs;
    unsigned deferred = 0;
    Sleep slept = Sleep::kRefused;
    while (!stopping()) {
        const bool helped = helped_.exchange(false, std::memory_order_relaxed);
        // Helpers do the work; but work that is still pending after several naps may need another thread.
        deferred = helped && device_.pending() ? deferred + 1 : 0;
        const bool leave_it = helped && deferred <= kDeferMax;
        if (!leave_it) deferred = 0;
        const bool worked = !leave_it && work();
        const uint64_t now = monotonic_ns();
        // Timers of the chip (the heartbeat of its firmware) do not indicate more work.
        if ((worked && slept != Sleep::kOver) || helped) active = now;
        // Each check takes CPU time from a helper.
        if (worked) nap = kNapNs;
        else if (helped) nap = std::min(nap * 2, kHelpedNapNs);
        slept = Sleep::kRefused;
        if (now - active >= kLingerNs) {
            slept = sleep();
            if (slept != Sleep::kRefused) {
                nap = kNapNs;
                continue;
            }
            nap = std::min(nap * 2, kNapMaxNs);
        }
        state_.store(kNapping, std::memory_order_relaxed);
        rest(kNapping, now + nap);
        device_.tick();
    }
    state_.store(kNone, std::memory_order_seq_cst);
}

}  // namespace sidra::embedded
