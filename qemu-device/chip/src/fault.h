// SPDX-License-Identifier: MIT
// The reason why a packet cannot continue. Converts to true if there is a fault.
#ifndef SIDRA_CHIP_FAULT_H
#define SIDRA_CHIP_FAULT_H

#include <cstdint>

#include "sidra_cmd.h"

namespace sidra::chip {

// The host is out of memory for a packet. uapi/ has no separate cause for that: it is a kind of refused transfer.
inline constexpr uint16_t kNoMemory = SIDRA_FAULT_BUS;
// The state file cannot store a change of cells; uapi/ has no separate cause for that either. The cells do not change.
inline constexpr uint16_t kNotKept = SIDRA_FAULT_BUS;

struct Fault {
    uint16_t cause = SIDRA_FAULT_NONE;
    uint64_t address = 0;  // device address, offending value, or 0
    explicit operator bool() const { return cause != SIDRA_FAULT_NONE; }
};

}  // namespace sidra::chip

#endif
