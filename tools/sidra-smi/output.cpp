// SPDX-License-Identifier: MIT
#include "output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "failure.h"

namespace sidra::smi_tool {

void print(std::string_view text) {
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (n >= 0) {
            done += static_cast<size_t>(n);
            continue;
        }
        if (errno == EINTR) continue;
        // Another process that shares the pipe may have made it non-blocking.
        struct pollfd room = {STDOUT_FILENO, POLLOUT, 0};
        if (errno == EAGAIN && (poll(&room, 1, -1) > 0 || errno == EINTR)) continue;
        const int error = errno;
        if (error == EPIPE) throw BrokenPipe();
        // Undo a partial write, if it is still the end of the file.
        struct stat info;
        const off_t end = lseek(STDOUT_FILENO, 0, SEEK_CUR);
        const bool ours = done > 0 && fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == end;
        const bool cut = ours && ftruncate(STDOUT_FILENO, end - static_cast<off_t>(done)) == 0;
        throw Failure(SIDRA_SMI_INTERNAL, fmt::format("cannot write to standard output: {}{}", std::strerror(error),
                                                      done > 0 && !cut ? "; the output is incomplete" : ""));
    }
}

void require_reader() {
    struct pollfd reader = {STDOUT_FILENO, 0, 0};
    if (poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP)) != 0) throw BrokenPipe();
}

void say(std::string text) {
    constexpr size_t kMost = 1000;
    if (text.size() > kMost) text.replace(kMost, text.npos, "...");
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    std::fprintf(stderr, "sidra-smi: %s\n", text.c_str());
}

bool colourful() {
    const char* const none = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) && (none == nullptr || none[0] == '\0') && terminal != nullptr &&
           std::strcmp(terminal, "dumb") != 0;
}

}  // namespace sidra::smi_tool
