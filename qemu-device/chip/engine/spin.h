// SPDX-License-Identifier: MIT
// Busy waiting for a few cycles.
#ifndef SIDRA_CHIP_ENGINE_SPIN_H
#define SIDRA_CHIP_ENGINE_SPIN_H

#include <atomic>

namespace sidra::engine {

// Hints to the CPU that this is a spin loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// A lock for critical sections of a few instructions; use with std::lock_guard.
class SpinLock {
   public:
    void lock() {
        while (flag_.exchange(true, std::memory_order_acquire))
            while (flag_.load(std::memory_order_relaxed)) relax();
    }
    void unlock() { flag_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> flag_{false};
};

}  // namespace sidra::engine

#endif
