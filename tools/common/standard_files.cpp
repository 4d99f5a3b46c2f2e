// SPDX-License-Identifier: MIT
#include "common/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace sidra::tools {

void open_standard_files() {
    // open() returns the lowest free number, and the lower ones are in use by then.
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            throw std::runtime_error("cannot open /dev/null in place of a closed standard file");
}

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw std::runtime_error("cannot write to standard output");
}

}  // namespace sidra::tools
