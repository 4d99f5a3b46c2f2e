// SPDX-License-Identifier: MIT
// The table of all chips, and the line of figures of one chip.
#ifndef SIDRA_SMI_TOP_OVERVIEW_H
#define SIDRA_SMI_TOP_OVERVIEW_H

#include <vector>

#include "grid.h"
#include "view.h"

namespace sidra::top {

// A header and one row per chip; the selected chip is marked. If there is not enough space, shows the chips around the
// selected one.
void draw_overview(Grid& grid, const Rect& place, const std::vector<Chip>& chips, const Choice& choice);

// Utilization, clock, L3 memory and firmware of a chip in one row.
void draw_info(Grid& grid, const Rect& place, const Chip& chip);

}  // namespace sidra::top

#endif
