// SPDX-License-Identifier: MIT
// Converts data of libsidra-smi for the screen.
#ifndef SIDRA_SMI_TOP_COLLECT_H
#define SIDRA_SMI_TOP_COLLECT_H

#include <sidra/smi.h>

#include <vector>

#include "view.h"

namespace sidra::top {

// Adds the values of the session's last refresh to the chip's histories, and replaces its other data. A chip that is
// gone keeps its last data.
void collect(sidra_smi_chip* from, Chip& chip);

// Data only for the selected chip. Reading the crossbars may take one second on a chip that does not answer; returns
// false if it fails.
void collect_processes(sidra_smi_chip* from, Chip& chip);
bool collect_crossbars(sidra_smi_chip* from, Chip& chip);

}  // namespace sidra::top

#endif
