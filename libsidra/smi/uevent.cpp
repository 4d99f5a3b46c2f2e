// SPDX-License-Identifier: MIT
#include "uevent.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "file.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr unsigned kKernel = 1;  // the group to which the kernel sends; udev sends to another one
constexpr size_t kMessageMost = 8192;

std::optional<uint64_t> number(std::string_view text) {
    const Maybe<uint64_t> value = to_number(text);
    return value ? std::optional(value.value) : std::nullopt;
}

}  // namespace

std::optional<Uevent> parse_uevent(std::string_view message) {
    Uevent found;
    bool ours = false, change = false;
    while (!message.empty()) {
        const std::string_view part = message.substr(0, message.find('\0'));
        message.remove_prefix(std::min(message.size(), part.size() + 1));
        const size_t at = part.find('=');
        if (at == part.npos) continue;
        const std::string_view key = part.substr(0, at), value = part.substr(at + 1);
        if (key == "SUBSYSTEM") ours = value == "sidra";
        else if (key == "ACTION") change = value == "change";
        else if (key == "DEVNAME") found.node = clean(value);
        else if (key == "SIDRA_EVENT") found.event = clean(value);
        else if (key == "SIDRA_CAUSE") found.cause = number(value);
        else if (key == "SIDRA_CONTEXT") found.context = number(value);
        else if (key == "SIDRA_GENERATION") found.generation = number(value);
        else if (key == "SIDRA_PANIC") found.panic = number(value);
    }
    if (!ours || !change || found.node.empty() || found.event.empty()) return std::nullopt;
    return found;
}

Uevents::Uevents() : fd_(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT)) {
    struct sockaddr_nl address = {};
    address.nl_family = AF_NETLINK;
    address.nl_groups = kKernel;
    if (fd_ < 0 || bind(fd_, reinterpret_cast<const struct sockaddr*>(&address), sizeof address) == 0) return;
    close(fd_);
    fd_ = -1;
}

Uevents::~Uevents() {
    if (fd_ >= 0) close(fd_);
}

void Uevents::wait(uint64_t timeout_ns) const {
    struct pollfd wait = {fd_, POLLIN, 0};  // a negative descriptor is ignored
    const struct timespec timeout = {static_cast<time_t>(timeout_ns / 1'000'000'000),
                                     static_cast<long>(timeout_ns % 1'000'000'000)};
    ppoll(&wait, 1, &timeout, nullptr);
}

std::optional<Uevent> Uevents::next() const {
    char bytes[kMessageMost];
    while (fd_ >= 0) {
        struct sockaddr_nl from = {};
        socklen_t size = sizeof from;
        const ssize_t got = recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<struct sockaddr*>(&from), &size);
        if (got < 0 && (errno == ENOBUFS || errno == EINTR)) continue;
        if (got < 0) break;
        if (from.nl_pid != 0) continue;  // not the kernel's
        if (auto event = parse_uevent({bytes, static_cast<size_t>(got)})) return event;
    }
    return std::nullopt;
}

}  // namespace sidra::smi
