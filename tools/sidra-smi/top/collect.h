// SPDX-License-Identifier: MIT
// From libsidra-smi to what the screen shows.
#ifndef SIDRA_SMI_TOP_COLLECT_H
#define SIDRA_SMI_TOP_COLLECT_H

#include <sidra/smi.h>

#include <vector>

#include "view.h"

namespace sidra::top {

// Adds what the session's last refresh has brought to the chip's histories, and puts the rest in the place of what was
// there. What a chip that is gone was last stays.
void collect(sidra_smi_chip* from, Chip& chip);

// What only the chip that is looked at needs. The map of crossbars may take a second of a chip that does not answer:
// false if it cannot be had.
void collect_processes(sidra_smi_chip* from, Chip& chip);
bool collect_crossbars(sidra_smi_chip* from, Chip& chip);

}  // namespace sidra::top

#endif
