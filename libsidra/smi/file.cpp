// SPDX-License-Identifier: MIT
#include "file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>

namespace sidra::smi {

File::File(const std::string& path, int flags)
    : fd_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), error_(fd_ < 0 ? errno : 0) {}

File::~File() {
    if (fd_ >= 0) close(fd_);
}

Maybe<size_t> File::read(void* to, size_t size, uint64_t offset) const {
    if (fd_ < 0) return Maybe<size_t>::none(error_);
    size_t done = 0;
    while (done < size) {
        const ssize_t n = pread(fd_, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return Maybe<size_t>::none(errno);
        if (n == 0) break;
        done += static_cast<size_t>(n);
    }
    return done;
}

Maybe<std::string> read_file(const std::string& path, size_t limit) {
    const File file(path, O_RDONLY);
    if (file.error() != 0) return Maybe<std::string>::none(file.error());
    struct stat info;
    if (fstat(file.fd(), &info) != 0) return Maybe<std::string>::none(errno);
    if (!S_ISREG(info.st_mode)) return Maybe<std::string>::none(S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
    // Read to the end, not to the reported size: sysfs reports 4096, /proc 0. In pieces of growing size, because most
    // files are short.
    std::string all;
    for (size_t piece = 4096;; piece *= 2) {
        const size_t at = all.size();
        all.resize(std::min(at + piece, limit + 1));
        const Maybe<size_t> got = file.read(all.data() + at, all.size() - at, at);
        if (!got) return Maybe<std::string>::none(got.error);
        const bool end = at + got.value < all.size();
        all.resize(at + got.value);
        if (all.size() > limit) return Maybe<std::string>::none(EFBIG);
        if (end) return all;
    }
}

int write_file(const std::string& path, const std::string& text) {
    const File file(path, O_WRONLY);
    if (file.error() != 0) return file.error();
    // Not repeated after EINTR: its effect may have begun.
    const ssize_t n = write(file.fd(), text.data(), text.size());
    if (n < 0) return errno;
    return static_cast<size_t>(n) == text.size() ? 0 : EIO;
}

Maybe<std::vector<std::string>> list_folder(const std::string& path) {
    constexpr size_t kMost = 1 << 16;
    const auto close_folder = [](DIR* folder) { closedir(folder); };
    const std::unique_ptr<DIR, decltype(close_folder)> folder(opendir(path.c_str()), close_folder);
    if (folder == nullptr) return Maybe<std::vector<std::string>>::none(errno);
    std::vector<std::string> names;
    while (names.size() < kMost) {
        const dirent* const entry = readdir(folder.get());
        if (entry == nullptr) break;
        std::string name = entry->d_name;
        if (name != "." && name != "..") names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

Maybe<std::string> link_target(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), target, sizeof target);
    if (n < 0) return Maybe<std::string>::none(errno);
    return std::string(target, static_cast<size_t>(n));
}

uint64_t now_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sidra::smi
