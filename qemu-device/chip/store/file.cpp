// SPDX-License-Identifier: MIT
#include "file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sidra::chip {
namespace {

template <typename F>
auto unless_interrupted(F&& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

int result_of(int status) { return status < 0 ? -errno : 0; }

}  // namespace

File::~File() {
    if (fd_ < 0) return;
    flock(fd_, LOCK_UN);  // a forked child may share the descriptor, and with it the lock
    close(fd_);
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

File& File::operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

int File::lock() const {
    const int error = result_of(unless_interrupted([&] { return flock(fd_, LOCK_EX | LOCK_NB); }));
    return error == -EWOULDBLOCK ? -EBUSY : error;
}

int File::open(const std::string& path, File* file) {
    for (;;) {
        File opened;
        // Without waiting, because the name may be that of a FIFO.
        opened.fd_ = unless_interrupted(
            [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644); });
        if (opened.fd_ < 0) return -errno;
        struct stat own {
        }, named{};
        if (fstat(opened.fd_, &own) < 0) return -errno;
        if (!S_ISREG(own.st_mode)) return -ENODEV;
        if (const int error = opened.lock()) return error;
        // The former holder may have replaced the file meanwhile.
        if (stat(path.c_str(), &named) == 0 && named.st_ino == own.st_ino && named.st_dev == own.st_dev) {
            *file = std::move(opened);
            return 0;
        }
    }
}

int File::create(const std::string& path, const File& like, const std::function<bool(const File&)>& left, File* file) {
    struct stat status {};
    if (fstat(like.fd_, &status) < 0) return -errno;
    {
        File old;
        old.fd_ = unless_interrupted(
            [&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW); });
        if (old.fd_ < 0 && errno != ENOENT) return -EEXIST;
        if (old.fd_ >= 0) {
            struct stat found {};
            if (fstat(old.fd_, &found) < 0) return -errno;
            if (!S_ISREG(found.st_mode)) return -EEXIST;
            if (const int error = old.lock()) return error;
            if (!left(old)) return -EEXIST;
            unlink(path.c_str());
        }
    }
    File made;
    made.fd_ = unless_interrupted(
        [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); });
    if (made.fd_ < 0) return -errno;
    // Without the right to change the owner, the file belongs to this process.
    [[maybe_unused]] const int ours = fchown(made.fd_, status.st_uid, status.st_gid);
    int error = result_of(fchmod(made.fd_, status.st_mode & 07777));
    if (!error) error = made.lock();
    if (error) unlink(path.c_str());
    else *file = std::move(made);
    return error;
}

ssize_t File::read(void* data, size_t bytes, uint64_t at) const {
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = unless_interrupted([&] {
            return pread(fd_, static_cast<uint8_t*>(data) + done, bytes - done, static_cast<off_t>(at + done));
        });
        if (got < 0) return -errno;
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    return static_cast<ssize_t>(done);
}

int File::write(const void* data, size_t bytes, uint64_t at) const {
    for (size_t done = 0; done < bytes;) {
        const ssize_t put = unless_interrupted([&] {
            return pwrite(fd_, static_cast<const uint8_t*>(data) + done, bytes - done, static_cast<off_t>(at + done));
        });
        if (put < 0) return -errno;
        done += static_cast<size_t>(put);
    }
    return 0;
}

int File::size(uint64_t* bytes) const {
    struct stat status {};
    if (fstat(fd_, &status) < 0) return -errno;
    *bytes = static_cast<uint64_t>(status.st_size);
    return 0;
}

int File::cut(uint64_t bytes) const {
    return result_of(unless_interrupted([&] { return ftruncate(fd_, static_cast<off_t>(bytes)); }));
}

int File::sync() const {
    return result_of(unless_interrupted([&] { return fdatasync(fd_); }));
}

int sync_folder(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    const int fd = unless_interrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) return -errno;
    const int error = result_of(unless_interrupted([&] { return fsync(fd); }));
    close(fd);
    return error;
}

}  // namespace sidra::chip
