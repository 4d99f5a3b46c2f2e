// SPDX-License-Identifier: MIT
// Selects the device, and the options of an embedded chip, from the environment and /dev.
#ifndef SIDRA_DEVICE_SELECT_H
#define SIDRA_DEVICE_SELECT_H

#include <cstdint>
#include <string>
#include <vector>

#include "status.h"

namespace sidra {

struct DeviceChoice {
    bool embedded = false;
    bool by_default = false;         // the embedded chip was not requested: no other device was found
    std::vector<std::string> nodes;  // of real devices, in order
    uint32_t count() const { return embedded ? 1 : static_cast<uint32_t>(nodes.size()); }
};

// The folders in which devices appear.
struct DeviceFolders {
    std::string nodes = "/dev";
    std::string pci = "/sys/bus/pci/devices";
};

// Selects SIDRA_DEVICE, else the nodes sidra0, sidra1, ..., else the embedded chip. A PCI function without a node is an
// error: the model must not replace a card whose driver is not loaded.
sidra_status choose_device(const char* call, const DeviceFolders& folders, DeviceChoice* choice);

// Completes `options` (or NULL): fields that are zero come from SIDRA_PROFILE, SIDRA_ENGINE, SIDRA_WORKERS,
// SIDRA_STATE, SIDRA_LEVEL, SIDRA_GDB and SIDRA_TRACE. Strings still belong to the caller or the environment;
// `variables` returns the names of the environment variables used.
sidra_status complete_options(const char* call, const sidra_device_options* options, sidra_device_options* result,
                              std::vector<std::string>* variables = nullptr);

// Prints one line on stderr, once per process, unless SIDRA_QUIET=1.
void announce_embedded();

}  // namespace sidra

#endif
