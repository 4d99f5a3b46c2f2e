// SPDX-License-Identifier: MIT
// The lock of one stream: a single atomic exchange while no other thread uses the stream, which is the usual case.
#ifndef SIDRA_LOCK_H
#define SIDRA_LOCK_H

#include <sched.h>
#include <time.h>

#include <atomic>

namespace sidra {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class SpinLock {
   public:
    void lock() {
        if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            contend();
    }
    void unlock() { held_.store(false, std::memory_order_release); }

   private:
    // Spins, then yields, then sleeps: the holder may have been preempted, and needs a CPU to release the lock.
    [[gnu::cold]] [[gnu::noinline]] void contend() {
        for (unsigned tries = 0;; ++tries) {
            if (!held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire)) return;
            if (tries < 128) {
                cpu_relax();
            } else if (tries < 256) {
                sched_yield();
            } else {
                const timespec nap{0, 50'000};
                nanosleep(&nap, nullptr);
            }
        }
    }

    std::atomic<bool> held_{false};
};

}  // namespace sidra

#endif
