// SPDX-License-Identifier: MIT
#include "part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace sidra::compiler {

PartFile::PartFile(std::string path)
    : path_(std::move(path)), part_(fmt::format("{}.{}{}", path_, getpid(), kPartSuffix)) {
    file_ = open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) fail("cannot be created");
}

PartFile::~PartFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(part_.c_str());
}

void PartFile::write(const void* data, uint64_t size, uint64_t offset) {
    auto* from = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t n = pwrite(file_, from, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail("cannot be written");
        from += n, size -= static_cast<uint64_t>(n), offset += static_cast<uint64_t>(n);
    }
}

void PartFile::copy(int from, uint64_t size) {
    if (ioctl(file_, FICLONE, from) == 0) return;
    off_t in = 0, out = 0;
    while (static_cast<uint64_t>(in) < size) {
        const ssize_t n = copy_file_range(from, &in, file_, &out, size - static_cast<uint64_t>(in), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;  // not between these file systems
    }
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    const auto piece = std::make_unique<char[]>(kPiece);
    for (auto at = static_cast<uint64_t>(in); at < size;) {
        const ssize_t n = pread(from, piece.get(), std::min(kPiece, size - at), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;  // the file that is copied has become shorter
        if (n <= 0) fail("cannot be copied");
        write(piece.get(), static_cast<uint64_t>(n), at);
        at += static_cast<uint64_t>(n);
    }
}

void PartFile::finish(uint64_t size) {
    if (ftruncate(file_, static_cast<off_t>(size)) != 0) fail("cannot be written");
    if (close(std::exchange(file_, -1)) != 0 || rename(part_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        unlink(part_.c_str());
        errno = error;
        fail("cannot be written");
    }
}

void PartFile::fail(const char* what) const {
    throw FileError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

}  // namespace sidra::compiler
