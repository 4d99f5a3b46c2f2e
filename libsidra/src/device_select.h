// SPDX-License-Identifier: MIT
// Which devices there are, and with which options an embedded chip opens: the environment and /dev decide, never a
// guess.
#ifndef SIDRA_DEVICE_SELECT_H
#define SIDRA_DEVICE_SELECT_H

#include <cstdint>
#include <string>
#include <vector>

#include "status.h"

namespace sidra {

struct DeviceChoice {
    bool embedded = false;
    bool by_default = false;         // embedded because nothing else was found, not because it was asked for
    std::vector<std::string> nodes;  // of real devices, in order
    uint32_t count() const { return embedded ? 1 : static_cast<uint32_t>(nodes.size()); }
};

// Where the system shows its devices.
struct DeviceFolders {
    std::string nodes = "/dev";
    std::string pci = "/sys/bus/pci/devices";
};

// SIDRA_DEVICE, else the nodes sidra0, sidra1, ... , else the embedded chip; but a PCI function without a node is an
// error: the model never stands in for a card whose driver is not loaded.
sidra_status choose_device(const char* call, const DeviceFolders& folders, DeviceChoice* choice);

// `options` (or NULL) as a whole, what is zero taken from SIDRA_PROFILE, SIDRA_ENGINE, SIDRA_WORKERS, SIDRA_STATE,
// SIDRA_LEVEL, SIDRA_GDB and SIDRA_TRACE. Strings stay the caller's, or the environment's; `variables` are the names of
// those that are the latter.
sidra_status complete_options(const char* call, const sidra_device_options* options, sidra_device_options* result,
                              std::vector<std::string>* variables = nullptr);

// One line on stderr, once a process, unless SIDRA_QUIET=1.
void announce_embedded();

}  // namespace sidra

#endif
