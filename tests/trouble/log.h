// SPDX-License-Identifier: MIT
// The kernel's log, for tests that have to read it.
#ifndef SIDRA_TESTS_LOG_H
#define SIDRA_TESTS_LOG_H

#include "node.h"

namespace sidra::test {

// The kernel's log from now on.
class Log {
   public:
    Log() : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) { lseek(fd_, 0, SEEK_END); }
    ~Log() { close(fd_); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    bool says(const std::string& text) {
        char record[8192];
        for (ssize_t bytes; (bytes = read(fd_, record, sizeof record)) > 0;)
            all_.append(record, static_cast<size_t>(bytes));
        return all_.find(text) != std::string::npos;
    }

   private:
    const int fd_;
    std::string all_;
};

}  // namespace sidra::test

#endif
