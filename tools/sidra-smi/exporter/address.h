// SPDX-License-Identifier: MIT
// Parses the exporter's listen address.
#ifndef SIDRA_SMI_EXPORTER_ADDRESS_H
#define SIDRA_SMI_EXPORTER_ADDRESS_H

#include <sys/socket.h>

#include <string>

namespace sidra::exporter {

struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    std::string path;       // of a Unix socket; otherwise empty
    bool loopback = false;  // reachable only from this machine
};

// "unix:PATH", "127.0.0.1:PORT", "[::1]:PORT"; only numbers, so no name lookup is needed. Port 0: any free port. Throws
// std::invalid_argument, with a text that says what is expected.
Address parse_address(const std::string& text);

// Formats the address of a listening socket in the same way.
std::string to_text(const sockaddr_storage& bytes, socklen_t size);

}  // namespace sidra::exporter

#endif
