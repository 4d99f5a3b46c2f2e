// SPDX-License-Identifier: MIT
#include "common/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace sidra::tools {

Signals::Signals(std::initializer_list<int> which) {
    sigset_t set;
    sigemptyset(&set);
    for (const int one : which) sigaddset(&set, one);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for signals");
    pthread_sigmask(SIG_BLOCK, &set, &before_);
}

Signals::~Signals() {
    while (next() != 0) {
    }  // otherwise pending signals would be delivered now
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    close(fd_);
}

int Signals::next() {
    signalfd_siginfo info;
    return read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace sidra::tools
