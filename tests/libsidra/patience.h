// SPDX-License-Identifier: MIT
// The timeout of waits in tests: only a hang reaches it, also on a busy machine and under sanitizers, where one wait
// for the cells of a whole chip at level accurate has taken more than two minutes. Less than the limit of a
// whole test program (scripts/cmake/SidraTest.cmake), so that a test says where it hangs.
#ifndef SIDRA_TESTS_PATIENCE_H
#define SIDRA_TESTS_PATIENCE_H

#include <unistd.h>

#include "sidra/sidra.h"

namespace sidra::test {

inline constexpr int kPatienceMs = 900'000;

inline uint64_t soon() { return sidra_deadline_after_ns(uint64_t{kPatienceMs} * 1'000'000); }

template <class Reached>
bool eventually(Reached reached) {
    for (const uint64_t end = soon(); !reached(); usleep(1000))
        if (sidra_deadline_after_ns(0) > end) return false;
    return true;
}

}  // namespace sidra::test

#endif
