// SPDX-License-Identifier: MIT
#include "distributed/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace sidra::pytorch {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
// A process that is being killed closes its connections one after the other.
constexpr std::chrono::milliseconds kAgain{200};

// The end of a connection attempt: 0, or an errno.
class Attempt {
   public:
    explicit Attempt(const Peer& peer) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(peer.port);
        if (socket_ < 0 || inet_pton(AF_INET, peer.host.c_str(), &address.sin_addr) != 1) {
            error_ = socket_ < 0 ? errno : EINVAL;
            return;
        }
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) error_ = errno;
    }
    ~Attempt() {
        if (socket_ >= 0) close(socket_);
    }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    bool pending() const { return error_ == EINPROGRESS; }
    pollfd waits_for() const { return {pending() ? socket_ : -1, POLLOUT, 0}; }
    void finish(short events) {
        if (events == 0) return;
        socklen_t size = sizeof error_;
        if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error_, &size) != 0) error_ = errno;
    }
    int error() const { return pending() ? ETIMEDOUT : error_; }

   private:
    const int socket_;
    int error_ = 0;
};

// The errno of each peer, 0 for those that are there.
std::vector<int> try_all(const std::vector<Peer>& peers) {
    std::vector<std::unique_ptr<Attempt>> attempts;
    for (const Peer& peer : peers) attempts.push_back(std::make_unique<Attempt>(peer));
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::ranges::any_of(attempts, [](const auto& attempt) { return attempt->pending(); })) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        std::vector<pollfd> waits;
        for (const auto& attempt : attempts) waits.push_back(attempt->waits_for());
        if (poll(waits.data(), waits.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) break;
        for (size_t i = 0; i < waits.size(); ++i) attempts[i]->finish(waits[i].revents);
    }
    std::vector<int> errors;
    for (const auto& attempt : attempts) errors.push_back(attempt->error());
    return errors;
}

}  // namespace

std::string about_peers(const std::vector<Peer>& peers) {
    if (peers.empty()) return "";
    std::vector<int> errors = try_all(peers);
    if (std::ranges::count(errors, 0) == static_cast<std::ptrdiff_t>(peers.size())) {
        usleep(static_cast<useconds_t>(std::chrono::microseconds(kAgain).count()));
        errors = try_all(peers);
    }
    std::string text;
    for (size_t i = 0; i < peers.size(); ++i) {
        if (errors[i] == 0) continue;
        text += "\nRank " + std::to_string(peers[i].rank) + " at " + peers[i].host;
        text += errors[i] == ECONNREFUSED ? " has ended."
                                          : std::string(" cannot be reached: ") + std::strerror(errors[i]) + ".";
    }
    return !text.empty() ? text
                         : "\nThe processes of all other ranks are there; one may stand still, or not take part.";
}

}  // namespace sidra::pytorch
