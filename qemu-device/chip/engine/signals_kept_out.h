// SPDX-License-Identifier: MIT
// Signals are for the threads of the application.
#ifndef SIDRA_CHIP_ENGINE_SIGNALS_KEPT_OUT_H
#define SIDRA_CHIP_ENGINE_SIGNALS_KEPT_OUT_H

#include <pthread.h>
#include <signal.h>

namespace sidra::engine {

// A thread that is created while this object exists blocks all signals.
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

}  // namespace sidra::engine

#endif
