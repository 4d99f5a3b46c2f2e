// SPDX-License-Identifier: MIT
// Where the exporter listens, as a person typed it.
#ifndef SIDRA_SMI_EXPORTER_ADDRESS_H
#define SIDRA_SMI_EXPORTER_ADDRESS_H

#include <sys/socket.h>

#include <string>

namespace sidra::exporter {

struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    std::string path;       // of a Unix socket; else empty
    bool loopback = false;  // reached from this machine only
};

// "unix:PATH", "127.0.0.1:PORT", "[::1]:PORT"; numbers only, so that nothing has to be looked up. Port 0: any that is
// free. Throws std::invalid_argument, with a text that says what is expected.
Address parse_address(const std::string& text);

// The same form, of a socket that listens.
std::string to_text(const sockaddr_storage& bytes, socklen_t size);

}  // namespace sidra::exporter

#endif
