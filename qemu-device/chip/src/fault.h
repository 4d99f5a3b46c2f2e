// SPDX-License-Identifier: MIT
// Why a packet cannot go on. Truthy when there is a fault.
#ifndef SIDRA_CHIP_FAULT_H
#define SIDRA_CHIP_FAULT_H

#include <cstdint>

#include "sidra_cmd.h"

namespace sidra::chip {

// The host has no memory for what a packet needs. There is no cause of its own for that in uapi/: it is one of the ways
// in which the host refuses to serve a transfer.
inline constexpr uint16_t kNoMemory = SIDRA_FAULT_BUS;
// Neither for a state file that cannot take what should become of cells. They stay as they are.
inline constexpr uint16_t kNotKept = SIDRA_FAULT_BUS;

struct Fault {
    uint16_t cause = SIDRA_FAULT_NONE;
    uint64_t address = 0;  // device address, offending value, or 0
    explicit operator bool() const { return cause != SIDRA_FAULT_NONE; }
};

}  // namespace sidra::chip

#endif
