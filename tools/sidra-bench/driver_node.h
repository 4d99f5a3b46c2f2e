// SPDX-License-Identifier: MIT
#ifndef SIDRA_BENCH_DRIVER_NODE_H
#define SIDRA_BENCH_DRIVER_NODE_H

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sidra::bench {

// Of the device that libsidra takes, too.
inline std::string driver_node() {
    const char* chosen = getenv("SIDRA_DEVICE");
    return chosen != nullptr && *chosen != '\0' ? chosen : "/dev/sidra0";
}

// Chips of one process have different options, so without a card each is a private one, which is never a card.
inline bool without_card() {
    const std::string node = driver_node();
    return node.front() != '/' || access(node.c_str(), F_OK) != 0;
}

}  // namespace sidra::bench

#endif
