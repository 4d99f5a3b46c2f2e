// SPDX-License-Identifier: MIT
#include "helpers.h"

#include <exception>

#include "signals_kept_out.h"
#include "spin.h"

namespace sidra::engine {

Helpers::~Helpers() {
    stop_.store(true);
    begin_round();
    for (std::thread& helper : helpers_) helper.join();
}

void Helpers::run(void (*task)(void*, bool), void* argument) {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || threads_ <= 1) {
        task(argument, false);
        return;
    }
    if (helpers_.size() + 1 < threads_) create_helpers();

    task_ = task;
    argument_ = argument;
    state_.store(kOpen, std::memory_order_release);
    begin_round();
    task(argument, false);
    // Late helpers find kOpen cleared; wait for those inside.
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    while (state_.load(std::memory_order_acquire) != 0) relax();
}

void Helpers::create_helpers() {
    const SignalsKeptOut kept_out;
    try {
        while (helpers_.size() + 1 < threads_) helpers_.emplace_back([this] { serve(); });
    } catch (const std::exception&) {  // out of threads or memory: use the existing helpers
    }
}

void Helpers::begin_round() {
    round_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    { std::lock_guard sleep(sleep_lock_); }  // no helper is between checking round_ and waiting
    wake_.notify_all();
}

void Helpers::serve() {
    constexpr int kSpins = 4000;  // some hundred microseconds: jobs often follow each other closely
    uint32_t seen = 0;
    for (;;) {
        for (int i = 0; i < kSpins && round_.load(std::memory_order_acquire) == seen; i++) relax();
        if (round_.load(std::memory_order_acquire) == seen) {
            // Helpers count themselves and then check round_; begin_round() changes round_ and then reads the count. So
            // at least one of them sees the other.
            sleepers_.fetch_add(1);
            {
                std::unique_lock sleep(sleep_lock_);
                wake_.wait(sleep, [&] { return round_.load() != seen; });
            }
            sleepers_.fetch_sub(1);
        }
        seen = round_.load(std::memory_order_acquire);
        if (stop_.load()) return;
        uint64_t state = state_.load(std::memory_order_acquire);
        while (state & kOpen) {
            if (!state_.compare_exchange_weak(state, state + kJoined, std::memory_order_acq_rel)) continue;
            task_(argument_, true);
            state_.fetch_sub(kJoined, std::memory_order_acq_rel);
            break;
        }
    }
}

}  // namespace sidra::engine
