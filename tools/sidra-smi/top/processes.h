// SPDX-License-Identifier: MIT
// The table of those who use a chip.
#ifndef SIDRA_SMI_TOP_PROCESSES_H
#define SIDRA_SMI_TOP_PROCESSES_H

#include <vector>

#include "grid.h"
#include "view.h"

namespace sidra::top {

// The largest first, names from A on; what is absent comes last in both orders. Equal ones by PID, so that they keep
// their places.
std::vector<const Process*> sorted(const std::vector<Process>& processes, Sort by, bool reversed);

void draw_processes(Grid& grid, const Rect& place, const Chip& chip, const Choice& choice);

}  // namespace sidra::top

#endif
