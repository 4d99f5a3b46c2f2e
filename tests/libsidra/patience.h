// SPDX-License-Identifier: MIT
// The timeout of waits in tests: only a hang reaches it, also on a busy machine and under sanitizers.
#ifndef SIDRA_TESTS_PATIENCE_H
#define SIDRA_TESTS_PATIENCE_H

#include <unistd.h>

#include "sidra/sidra.h"

namespace sidra::test {

inline constexpr int kPatienceMs = 120'000;

inline uint64_t soon() { return sidra_deadline_after_ns(uint64_t{kPatienceMs} * 1'000'000); }

template <class Reached>
bool eventually(Reached reached) {
    for (const uint64_t end = soon(); !reached(); usleep(1000))
        if (sidra_deadline_after_ns(0) > end) return false;
    return true;
}

}  // namespace sidra::test

#endif
