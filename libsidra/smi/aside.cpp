// SPDX-License-Identifier: MIT
#include "aside.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

namespace sidra::smi {
namespace {

// Signals are for the threads of the program: threads created while this object exists block all signals.
class SignalsKeptOut {
   public:
    SignalsKeptOut() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsKeptOut() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsKeptOut(const SignalsKeptOut&) = delete;
    SignalsKeptOut& operator=(const SignalsKeptOut&) = delete;

   private:
    sigset_t before_;
};

}  // namespace

int Aside::start(std::function<void()> work) {
    {
        const std::lock_guard held(state_->lock);
        if (state_->busy) return EBUSY;
        state_->busy = true;
    }
    const SignalsKeptOut kept_out;
    try {
        std::thread([state = state_, work = std::move(work)] {
            work();
            const std::lock_guard held(state->lock);
            state->busy = false;
            state->changed.notify_all();
        }).detach();
        return 0;
    } catch (const std::exception&) {  // std::bad_alloc, or std::system_error if no thread can be created
        const std::lock_guard held(state_->lock);
        state_->busy = false;
        return ENOMEM;
    }
}

bool Aside::wait_until(uint64_t deadline_ns) {
    // std::chrono::steady_clock is CLOCK_MONOTONIC.
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    std::unique_lock held(state_->lock);
    return state_->changed.wait_until(held, deadline, [this] { return !state_->busy; });
}

}  // namespace sidra::smi
