// SPDX-License-Identifier: MIT
// The table of the processes that use a chip.
#ifndef SIDRA_SMI_TOP_PROCESSES_H
#define SIDRA_SMI_TOP_PROCESSES_H

#include <vector>

#include "grid.h"
#include "view.h"

namespace sidra::top {

// Largest first, names in alphabetical order; absent values last in both orders. Ties by PID, so that the order is
// stable.
std::vector<const Process*> sorted(const std::vector<Process>& processes, Sort by, bool reversed);

void draw_processes(Grid& grid, const Rect& place, const Chip& chip, const Choice& choice);

}  // namespace sidra::top

#endif
