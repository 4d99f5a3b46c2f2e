// SPDX-License-Identifier: MIT
#include "pool.h"

#include "spin.h"

namespace sidra::chip {

Pool::~Pool() {
    stop_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

void Pool::run(void (*task)(void*), void* argument) {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || threads_ <= 1) {
        task(argument);
        return;
    }
    while (helpers_.size() + 1 < threads_) helpers_.emplace_back([this] { serve(); });

    task_ = task;
    argument_ = argument;
    state_.store(kOpen, std::memory_order_release);
    round_.fetch_add(1);
    round_.notify_all();
    task(argument);
    // Late helpers find the door closed; those inside are waited for.
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    while (state_.load(std::memory_order_acquire) != 0) relax();
}

void Pool::serve() {
    constexpr int kSpins = 400;  // some ten microseconds: jobs often follow each other closely
    uint32_t seen = 0;
    for (;;) {
        for (int i = 0; i < kSpins && round_.load(std::memory_order_acquire) == seen; i++) relax();
        round_.wait(seen);
        seen = round_.load(std::memory_order_acquire);
        if (stop_.load()) return;
        uint64_t state = state_.load(std::memory_order_acquire);
        while (state & kOpen) {
            if (!state_.compare_exchange_weak(state, state + kJoined, std::memory_order_acq_rel)) continue;
            task_(argument_);
            state_.fetch_sub(kJoined, std::memory_order_acq_rel);
            break;
        }
    }
}

}  // namespace sidra::chip
