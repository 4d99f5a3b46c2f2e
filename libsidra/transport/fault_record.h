// SPDX-License-Identifier: MIT
// The fault record of a queue's state page. A reset clears it while other threads may be reading it, so both go word by
// word, and who reads looks afterwards whether the queue is still the one that had stopped.
#ifndef SIDRA_FAULT_RECORD_H
#define SIDRA_FAULT_RECORD_H

#include <cstddef>
#include <cstdint>

#include "sidra_state.h"

namespace sidra {

using FaultWord [[gnu::may_alias]] = uint64_t;
constexpr size_t kFaultWords = sizeof(sidra_fault) / sizeof(FaultWord);
static_assert(sizeof(sidra_fault) % sizeof(FaultWord) == 0 &&
              offsetof(sidra_queue_state, fault) % sizeof(FaultWord) == 0);

// Why the queue has stopped; zeros: it has not, or was reset meanwhile.
inline sidra_fault load_fault(const sidra_queue_state& state) {
    for (;;) {
        const uint32_t epoch = __atomic_load_n(&state.epoch, __ATOMIC_ACQUIRE);
        const uint32_t run_state = __atomic_load_n(&state.run_state, __ATOMIC_ACQUIRE);
        sidra_fault fault{};
        if (run_state < SIDRA_QUEUE_FAULTED) return fault;
        const auto* from = reinterpret_cast<const FaultWord*>(&state.fault);
        auto* to = reinterpret_cast<FaultWord*>(&fault);
        for (size_t i = 0; i < kFaultWords; i++) to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&state.run_state, __ATOMIC_ACQUIRE) == run_state &&
            __atomic_load_n(&state.epoch, __ATOMIC_RELAXED) == epoch)
            return fault;
    }
}

// The run state says before that there is none, or afterwards that there is one.
inline void store_fault(sidra_queue_state& state, const sidra_fault& fault) {
    const auto* from = reinterpret_cast<const FaultWord*>(&fault);
    auto* to = reinterpret_cast<FaultWord*>(&state.fault);
    for (size_t i = 0; i < kFaultWords; i++) __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

}  // namespace sidra

#endif
