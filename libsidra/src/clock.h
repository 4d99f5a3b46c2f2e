// SPDX-License-Identifier: MIT
#ifndef SIDRA_CLOCK_H
#define SIDRA_CLOCK_H

#include <time.h>

#include <cstdint>

namespace sidra {

inline uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sidra

#endif
