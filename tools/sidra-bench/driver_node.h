// SPDX-License-Identifier: MIT
#ifndef SIDRA_BENCH_DRIVER_NODE_H
#define SIDRA_BENCH_DRIVER_NODE_H

#include <cstdlib>
#include <string>

namespace sidra::bench {

// Of the device that libsidra takes, too.
inline std::string driver_node() {
    const char* chosen = getenv("SIDRA_DEVICE");
    return chosen != nullptr ? chosen : "/dev/sidra0";
}

}  // namespace sidra::bench

#endif
