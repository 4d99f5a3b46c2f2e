// SPDX-License-Identifier: MIT
// Signals as a file descriptor, so that they interrupt nothing.
#ifndef SIDRA_COMMON_SIGNALS_H
#define SIDRA_COMMON_SIGNALS_H

#include <signal.h>

#include <initializer_list>

namespace sidra::tools {

// From its construction on, this thread and the threads that it creates receive these signals only through fd().
class Signals {
   public:
    Signals(std::initializer_list<int> which);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int fd() const { return fd_; }
    // The next pending signal; 0: none.
    int next();

   private:
    sigset_t before_;
    int fd_;
};

}  // namespace sidra::tools

#endif
