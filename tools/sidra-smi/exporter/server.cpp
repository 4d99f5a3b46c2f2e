// SPDX-License-Identifier: MIT
#include "server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "http.h"

namespace sidra::exporter {
namespace {

constexpr int kEndMs = 1000;            // time for the client to read the end of its answer
constexpr size_t kMostIgnored = 65536;  // limit for data that the client sends meanwhile
constexpr int kDeafMs = 100;

int64_t now() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

bool later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Server::Server(std::vector<std::unique_ptr<Listener>> listeners, Metrics metrics, Limits limits)
    : listeners_(std::move(listeners)), metrics_(std::move(metrics)), limits_(limits) {}

void Server::accept_from(int fd, int64_t now_ms) {
    Descriptor socket(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        // Without a free descriptor the client stays in the queue, and poll() would return immediately again and again.
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            deaf_until_ms_ = now_ms + kDeafMs;
        return;
    }
    if (clients_.size() >= limits_.clients) {
        const auto reads = [](const Client& client) { return client.state == State::kReading; };
        const auto slowest = std::find_if(clients_.begin(), clients_.end(), reads);
        clients_.erase(slowest != clients_.end() ? slowest : clients_.begin());
    }
    clients_.push_back({std::move(socket), State::kReading, now_ms + limits_.request_ms, {}, {}, 0, 0});
}

void Server::respond(Client& client, std::string text, int64_t now_ms) {
    client.out = std::move(text);
    client.in.clear();
    client.state = State::kWriting;
    client.deadline_ms = now_ms + limits_.response_ms;
}

bool Server::receive(Client& client, int64_t now_ms) {
    char bytes[4096];
    const ssize_t got = recv(client.socket.get(), bytes, sizeof bytes, 0);
    if (got < 0) return later();
    if (client.state == State::kEnding) {
        client.ignored += static_cast<size_t>(got);
        return got > 0 && client.ignored <= kMostIgnored;
    }
    if (got == 0) return false;
    client.in.append(bytes, static_cast<size_t>(got));
    if (auto text = answer(client.in, metrics_)) {
        respond(client, std::move(*text), now_ms);
        return transmit(client, now_ms);
    }
    return true;
}

bool Server::transmit(Client& client, int64_t now_ms) {
    while (client.written < client.out.size()) {
        const ssize_t sent = send(client.socket.get(), client.out.data() + client.written,
                                  client.out.size() - client.written, MSG_NOSIGNAL);
        if (sent < 0) return later();
        client.written += static_cast<size_t>(sent);
    }
    // Closing with unread data from the client would discard the answer.
    if (shutdown(client.socket.get(), SHUT_WR) != 0) return false;
    client.state = State::kEnding;
    client.deadline_ms = now_ms + kEndMs;
    return true;
}

bool Server::expire(Client& client, int64_t now_ms) {
    if (now_ms < client.deadline_ms) return true;
    if (client.state != State::kReading) return false;
    respond(client, too_slow(), now_ms);
    return transmit(client, now_ms);
}

void Server::run(int stop) {
    std::vector<pollfd> waits;
    while (true) {
        const int64_t before = now();
        const bool deaf = before < deaf_until_ms_;
        int64_t wake = deaf ? deaf_until_ms_ : INT64_MAX;
        waits.assign(1, {stop, POLLIN, 0});
        for (const auto& listener : listeners_) waits.push_back({deaf ? -1 : listener->fd(), POLLIN, 0});
        for (const Client& client : clients_) {
            waits.push_back(
                {client.socket.get(), static_cast<short>(client.state == State::kWriting ? POLLOUT : POLLIN), 0});
            wake = std::min(wake, client.deadline_ms);
        }
        const int timeout = wake == INT64_MAX ? -1 : static_cast<int>(std::max<int64_t>(wake - before, 0));
        if (poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) return;
        if (waits[0].revents != 0) return;
        const int64_t after = now();
        size_t at = 1 + listeners_.size();
        for (auto client = clients_.begin(); client != clients_.end(); ++at) {
            bool stays = true;
            if (waits[at].revents != 0)
                stays = client->state == State::kWriting ? transmit(*client, after) : receive(*client, after);
            stays = stays && expire(*client, after);
            client = stays ? std::next(client) : clients_.erase(client);
        }
        // One per iteration, so that a pending request is answered before another client can replace it.
        for (size_t i = 0; i < listeners_.size(); ++i)
            if (waits[1 + i].revents != 0) accept_from(listeners_[i]->fd(), after);
    }
}

}  // namespace sidra::exporter
