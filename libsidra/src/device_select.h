// SPDX-License-Identifier: MIT
// Selects the device, and the options of an embedded chip, from the environment and /dev.
#ifndef SIDRA_DEVICE_SELECT_H
#define SIDRA_DEVICE_SELECT_H

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "status.h"

namespace sidra {

struct DeviceChoice {
    bool embedded = false;
    bool by_default = false;         // the embedded chip was not requested: no other device was found
    std::vector<uint32_t> chips;     // numbers of embedded chips, in order
    std::vector<std::string> nodes;  // of real devices, in order
    uint32_t count() const { return static_cast<uint32_t>(embedded ? chips.size() : nodes.size()); }
};

// The folders in which devices appear.
struct DeviceFolders {
    std::string nodes = "/dev";
    std::string pci = "/sys/bus/pci/devices";
};

// Selects SIDRA_DEVICE, else the nodes sidra0, sidra1, ..., else the embedded chip. A PCI function without a node is an
// error: the model must not replace a card whose driver is not loaded. A private chip is an embedded one, whatever
// there is.
sidra_status choose_device(const char* call, const DeviceFolders& folders, bool private_chip, DeviceChoice* choice);

// What the environment says about one embedded chip.
struct ChipEnvironment {
    uint32_t chip = 0;                   // in: each chip but 0 has files and a debugger's address of its own
    std::vector<std::string> variables;  // out: names of the variables used
    std::deque<std::string> strings;     // out: keeps strings that the options have
};

// Copies `options` (or NULL), which may be those of an earlier version.
sidra_status read_options(const char* call, const sidra_device_options* options, sidra_device_options* result);

// Completes `options` (or NULL): fields that are zero come from SIDRA_PROFILE, SIDRA_ENGINE, SIDRA_WORKERS,
// SIDRA_STATE, SIDRA_LEVEL, SIDRA_GDB and SIDRA_TRACE; those of a private chip only from SIDRA_ENGINE and
// SIDRA_WORKERS, which change no result. Strings belong to the caller or to `environment`.
sidra_status complete_options(const char* call, const sidra_device_options* options, sidra_device_options* result,
                              ChipEnvironment* environment);

// Prints one line on stderr, once per process, unless SIDRA_QUIET=1.
void announce_embedded();

}  // namespace sidra

#endif
