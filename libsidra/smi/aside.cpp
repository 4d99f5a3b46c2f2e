// SPDX-License-Identifier: MIT
#include "aside.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace sidra::smi {

int Aside::start(std::function<void()> work) {
    {
        const std::lock_guard held(state_->lock);
        if (state_->busy) return EBUSY;
        state_->busy = true;
    }
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        std::thread([state = state_, work = std::move(work)] {
            work();
            const std::lock_guard held(state->lock);
            state->busy = false;
            state->changed.notify_all();
        }).detach();
    } catch (const std::system_error& e) {
        const std::lock_guard held(state_->lock);
        state_->busy = false;
        error = e.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

bool Aside::wait_until(uint64_t deadline_ns) {
    // std::chrono::steady_clock is CLOCK_MONOTONIC.
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    std::unique_lock held(state_->lock);
    return state_->changed.wait_until(held, deadline, [this] { return !state_->busy; });
}

}  // namespace sidra::smi
