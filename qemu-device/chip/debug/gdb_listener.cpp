// SPDX-License-Identifier: MIT
#include "gdb_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "signals_kept_out.h"

namespace sidra::chip {
namespace {

constexpr std::string_view kTcp = "tcp:", kHome = "127.0.0.1";

[[noreturn]] void fail(int error, const std::string& address, const std::string& why) {
    throw GdbError(error, "gdb: '" + address + "' cannot be listened at: " + why);
}
[[noreturn]] void fail_with(int error, const std::string& address) {
    fail(error, address, std::string(std::strerror(error)) + ". Name another port or socket");
}

int stream_socket(int family, const std::string& address) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) fail_with(errno, address);
    return fd;
}

// Whether a killed process left this socket: nobody listens on it.
bool left_behind(const sockaddr_un& name) {
    struct stat found;
    if (lstat(name.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) return false;
    const Descriptor caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return caller && connect(caller.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 &&
           errno == ECONNREFUSED;
}

}  // namespace

void Descriptor::reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
}

GdbListener::GdbListener(const std::string& address, Debugger& debugger, std::function<void()> wake)
    : debugger_(debugger), wake_(std::move(wake)) {
    if (address.starts_with(kTcp)) {
        const std::string rest = address.substr(kTcp.size());
        const size_t colon = rest.rfind(':');
        if (colon == std::string::npos || rest.substr(0, colon) != kHome)
            fail(EINVAL, address, "only this machine may debug: tcp:127.0.0.1:PORT, or a Unix socket");
        listen_tcp(address, rest.substr(colon + 1));
    } else if (address.find('/') != std::string::npos) {
        listen_unix(address);
    } else {
        listen_tcp(address, address);
    }
    try {
        if (listen(listening_.get(), 1) != 0) fail_with(errno, address);
        start();
    } catch (...) {
        if (!made_.empty()) unlink(made_.c_str());
        throw;
    }
}

void GdbListener::listen_tcp(const std::string& address, const std::string& port) {
    uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc{} || end != port.data() + port.size() || port.empty())
        fail(EINVAL, address,
             "must be a port (0 to 65535), tcp:127.0.0.1:PORT, or the path of a Unix socket with a / in it");
    listening_.reset(stream_socket(AF_INET, address));
    const int on = 1;
    setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on,
               sizeof on);  // otherwise the port stays in use for a minute
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(number);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listening_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) fail_with(errno, address);
    socklen_t size = sizeof name;
    getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&name), &size);
    place_ = std::string(kHome) + ":" + std::to_string(ntohs(name.sin_port));
}

void GdbListener::listen_unix(const std::string& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path)
        fail(ENAMETOOLONG, path,
             "a Unix socket's path has at most " + std::to_string(sizeof name.sun_path - 1) + " bytes");
    path.copy(name.sun_path, path.size());
    listening_.reset(stream_socket(AF_UNIX, path));
    fchmod(listening_.get(), S_IRUSR | S_IWUSR);  // before it gets a name
    const auto bound = [&] {
        return bind(listening_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
    };
    if (!bound()) {
        const int error = errno;
        if (error != EADDRINUSE || !left_behind(name) || unlink(path.c_str()) != 0 || !bound()) fail_with(error, path);
    }
    made_ = place_ = path;
}

void GdbListener::start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) fail_with(errno, place_);
    look_.reset(ends[0]);
    poke_.reset(ends[1]);
    {
        const engine::SignalsKeptOut kept_out;
        thread_ = std::thread(&GdbListener::loop, this);
    }
    debugger_.tell([this] { [[maybe_unused]] const ssize_t told = ::write(poke_.get(), "", 1); });
}

GdbListener::~GdbListener() {
    debugger_.tell({});
    stop_ = true;
    [[maybe_unused]] const ssize_t told = ::write(poke_.get(), "", 1);
    thread_.join();
    if (!made_.empty()) unlink(made_.c_str());
    hang_up();
}

// If the pipe is full, the byte may be lost: one byte is enough to wake the thread.
void GdbListener::loop() {
    constexpr int kRetryMs = 1000;
    while (!stop_) {
        if (out_.empty()) out_ = debugger_.take();
        // Flow control: read requests only if all answers were sent and all requests processed.
        const bool reads = out_.empty() && debugger_.heard();
        pollfd waits[] = {
            {look_.get(), POLLIN, 0},
            {listening_.get(), static_cast<short>(deaf_ ? 0 : POLLIN), 0},
            {client_.get(), static_cast<short>((reads ? POLLIN : 0) | (out_.empty() ? 0 : POLLOUT)), 0},
        };
        if (poll(waits, std::size(waits), deaf_ ? kRetryMs : -1) < 0 && errno != EINTR) return;
        deaf_ = false;
        char bytes[64];
        while (::read(look_.get(), bytes, sizeof bytes) > 0) {
        }
        if (waits[2].revents & POLLOUT) write();
        if (client_ && (waits[2].revents & POLLIN)) read();
        else if (client_ && (waits[2].revents & (POLLHUP | POLLERR))) hang_up();
        if (waits[1].revents & POLLIN) meet();
    }
}

void GdbListener::meet() {
    Descriptor caller(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    deaf_ = !caller && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS);
    if (!caller || client_) return;  // only one debugger at a time: close this connection
    const int on = 1;
    setsockopt(caller.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client_.reset(caller.release());
    out_.clear();
    debugger_.come();
    wake_();
}

void GdbListener::read() {
    char bytes[4096];
    const ssize_t count = recv(client_.get(), bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return hang_up();
    debugger_.bring({bytes, static_cast<size_t>(count)});
    wake_();
}

void GdbListener::write() {
    const ssize_t count = send(client_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return hang_up();
    out_.erase(0, static_cast<size_t>(count));
}

void GdbListener::hang_up() {
    if (!client_) return;
    client_.reset();
    out_.clear();
    debugger_.go();
    wake_();
}

}  // namespace sidra::chip
