// SPDX-License-Identifier: MIT
// Serves scrapers in one thread. Clients may be slow, many and hostile: each has a deadline and little memory. When all
// slots are in use, the client that has waited longest without a request loses its slot.
#ifndef SIDRA_SMI_EXPORTER_SERVER_H
#define SIDRA_SMI_EXPORTER_SERVER_H

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "descriptor.h"
#include "listener.h"

namespace sidra::exporter {

struct Limits {
    size_t clients = 32;
    int request_ms = 5000;    // for a complete request
    int response_ms = 10000;  // for sending the complete answer
};

class Server {
   public:
    using Metrics = std::function<std::optional<std::string>()>;

    Server(std::vector<std::unique_ptr<Listener>> listeners, Metrics metrics, Limits limits = {});
    // Runs until `stop` is readable.
    void run(int stop);

   private:
    enum class State : unsigned char { kReading, kWriting, kEnding };
    struct Client {
        Descriptor socket;
        State state = State::kReading;
        int64_t deadline_ms = 0;
        std::string in, out;
        size_t written = 0;
        size_t ignored = 0;  // bytes after the request
    };

    void accept_from(int fd, int64_t now_ms);
    // Return false if the connection is finished.
    bool receive(Client& client, int64_t now_ms);
    bool transmit(Client& client, int64_t now_ms);
    bool expire(Client& client, int64_t now_ms);
    void respond(Client& client, std::string text, int64_t now_ms);

    std::vector<std::unique_ptr<Listener>> listeners_;
    Metrics metrics_;
    Limits limits_;
    std::list<Client> clients_;  // oldest first
    int64_t deaf_until_ms_ = 0;  // no descriptor was free
};

}  // namespace sidra::exporter

#endif
