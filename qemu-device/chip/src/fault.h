// SPDX-License-Identifier: MIT
// Why a packet cannot go on. Truthy when there is a fault.
#ifndef SIDRA_CHIP_FAULT_H
#define SIDRA_CHIP_FAULT_H

#include <cstdint>

#include "sidra_cmd.h"

namespace sidra::chip {

struct Fault {
    uint16_t cause = SIDRA_FAULT_NONE;
    uint64_t address = 0;  // device address, offending value, or 0
    explicit operator bool() const { return cause != SIDRA_FAULT_NONE; }
};

}  // namespace sidra::chip

#endif
