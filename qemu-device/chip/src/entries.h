// SPDX-License-Identifier: MIT
// Whether entries of the driver's tables, or those of a saved chip, are valid.
#ifndef SIDRA_CHIP_ENTRIES_H
#define SIDRA_CHIP_ENTRIES_H

#include "address.h"
#include "sidra_hw.h"

namespace sidra::chip {

bool well_formed(const sidra_hw_context& entry);
bool well_formed(const sidra_hw_queue& entry);

// The memory ranges in a queue's table entry.
struct QueueMemory {
    Range ring, write_index, state;
    Range reports;  // empty: no reports
};
QueueMemory memory_of(const sidra_hw_queue& entry);

}  // namespace sidra::chip

#endif
