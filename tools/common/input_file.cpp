// SPDX-License-Identifier: MIT
#include "common/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sidra::tools {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw std::runtime_error(fmt::format("cannot read {}: {}", path.empty() ? "a file" : path, why));
}

class Descriptor {
   public:
    // Non-blocking: opening a pipe would wait for a writer.
    explicit Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int fd() const { return fd_; }

   private:
    int fd_;
};

}  // namespace

InputFile read_file(const std::string& path, size_t limit) {
    if (path.empty()) fail(path, "its name is empty");
    const Descriptor file(path);
    struct stat info;
    if (file.fd() < 0 || fstat(file.fd(), &info) != 0) fail(path, std::strerror(errno));
    if (!S_ISREG(info.st_mode)) fail(path, "it is not a regular file");
    InputFile all;
    all.mode = info.st_mode & 07777;
    // Read to the end, not to the reported size: the file may grow, and files of /proc report 0.
    for (;;) {
        constexpr size_t kPiece = 1 << 16;
        const size_t at = all.bytes.size();
        all.bytes.resize(at + kPiece);
        const ssize_t n = read(file.fd(), all.bytes.data() + at, kPiece);
        if (n < 0 && errno != EINTR) fail(path, std::strerror(errno));
        all.bytes.resize(at + (n > 0 ? static_cast<size_t>(n) : 0));
        if (all.bytes.size() > limit) fail(path, fmt::format("it is longer than {} bytes", limit));
        if (n == 0) return all;
    }
}

}  // namespace sidra::tools
