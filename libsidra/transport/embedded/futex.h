// SPDX-License-Identifier: MIT
// Sleeps on a word with a timeout (which std::atomic::wait does not have). Also the clock for deadlines.
#ifndef SIDRA_EMBEDDED_FUTEX_H
#define SIDRA_EMBEDDED_FUTEX_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace sidra::embedded {

inline uint64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Sleeps while the word is `expected`, until woken or the CLOCK_MONOTONIC time `until_ns`; may return early.
inline void futex_wait_until(std::atomic<uint32_t>& word, uint32_t expected, uint64_t until_ns) {
    timespec until{static_cast<time_t>(until_ns / 1'000'000'000u), static_cast<long>(until_ns % 1'000'000'000u)};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, &until, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake_one(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace sidra::embedded

#endif
