// SPDX-License-Identifier: MIT
// Signals as something that can be read: none of them interrupts anything.
#ifndef SIDRA_COMMON_SIGNALS_H
#define SIDRA_COMMON_SIGNALS_H

#include <signal.h>

#include <initializer_list>

namespace sidra::tools {

// From when it is made the thread, and threads that it starts, take these signals by fd() only.
class Signals {
   public:
    Signals(std::initializer_list<int> which);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int fd() const { return fd_; }
    // The next one that has come; 0: none.
    int next();

   private:
    sigset_t before_;
    int fd_;
};

}  // namespace sidra::tools

#endif
