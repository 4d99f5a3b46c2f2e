// SPDX-License-Identifier: MIT
// Which ranks are gone, when an operation of torch.distributed has failed.
#ifndef SIDRA_PYTORCH_PEERS_H
#define SIDRA_PYTORCH_PEERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace sidra::pytorch {

// Another process of a group, and where it listens (IPv4).
struct Peer {
    int64_t rank;
    std::string host;
    uint16_t port;
};

// Connects to all of them at once; takes a second at most. A line for each that has ended or cannot be reached, and one
// that says so if all are there.
std::string about_peers(const std::vector<Peer>& peers);

}  // namespace sidra::pytorch

#endif
