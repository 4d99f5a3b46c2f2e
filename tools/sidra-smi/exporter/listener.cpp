// SPDX-License-Identifier: MIT
#include "listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sidra::exporter {
namespace {

constexpr int kBacklog = 64;
constexpr long kBetweenNs = 10'000'000;
constexpr int kTriesMax = 500;  // 5 s; a server that starts needs a millisecond

const sockaddr* generic(const sockaddr_storage& bytes) { return reinterpret_cast<const sockaddr*>(&bytes); }

[[noreturn]] void fail(const Address& address, int error, const std::string& why) {
    throw CannotListen(error, fmt::format("cannot listen on {}: {}", to_text(address.bytes, address.size), why));
}
[[noreturn]] void fail(const Address& address, int error) {
    fail(address, error,
         error == EADDRINUSE ? "the address is in use (another exporter? choose another address)"
                             : std::strerror(error));
}

// Locks the folder of a socket, until the descriptor closes: another server that starts there must not take a new
// socket, before its server listens, for that of a server that was killed.
Descriptor locked_folder(const Address& address) {
    const std::string folder = std::filesystem::path(address.path).parent_path();
    Descriptor lock(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) fail(address, errno);
    // Anybody who may read the folder can lock it, and for as long as they like; flock() has no time limit to wait
    // with.
    for (int tries = 0; flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (errno != EWOULDBLOCK) fail(address, errno);
        if (tries == kTriesMax) fail(address, errno, "another program has locked the folder");
        const struct timespec between = {0, kBetweenNs};
        nanosleep(&between, nullptr);
    }
    return lock;
}

// Removes the socket file of a server that was killed.
void remove_stale(const Address& address) {
    struct stat info;
    if (lstat(address.path.c_str(), &info) != 0) {
        if (errno == ENOENT) return;
        fail(address, errno);
    }
    if (!S_ISSOCK(info.st_mode)) fail(address, EEXIST, "the file exists and is not a socket");
    const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) fail(address, errno);
    // A busy server reports EAGAIN; only ECONNREFUSED says that there is no server.
    if (connect(probe.get(), generic(address.bytes), address.size) == 0 || errno == EAGAIN) fail(address, EADDRINUSE);
    if (errno != ECONNREFUSED) fail(address, errno);
    if (unlink(address.path.c_str()) != 0 && errno != ENOENT) fail(address, errno);
}

}  // namespace

Listener::Listener(const Address& address)
    : socket_(socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!socket_) fail(address, errno);
    Descriptor lock;
    if (address.path.empty()) {
        const int on = 1;  // recently closed connections do not block the port
        setsockopt(fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (address.bytes.ss_family == AF_INET6) setsockopt(fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    } else {
        lock = locked_folder(address);
        remove_stale(address);
    }
    if (bind(fd(), generic(address.bytes), address.size) != 0) fail(address, errno);
    struct stat info;
    if (!address.path.empty() && lstat(address.path.c_str(), &info) == 0) {
        path_ = address.path;
        device_ = info.st_dev;
        inode_ = info.st_ino;
    }
    if (listen(fd(), kBacklog) != 0) {
        const int error = errno;
        if (!path_.empty()) unlink(path_.c_str());
        fail(address, error);
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    const bool known = address.path.empty() && getsockname(fd(), reinterpret_cast<sockaddr*>(&bound), &size) == 0;
    text_ = known ? to_text(bound, size) : to_text(address.bytes, address.size);
}

Listener::~Listener() {
    struct stat info;
    if (!path_.empty() && lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
        unlink(path_.c_str());
}

}  // namespace sidra::exporter
