// SPDX-License-Identifier: MIT
// Draws the whole screen.
#ifndef SIDRA_SMI_TOP_SCREEN_H
#define SIDRA_SMI_TOP_SCREEN_H

#include <vector>

#include "grid.h"
#include "view.h"

namespace sidra::top {

Grid draw(const std::vector<Chip>& chips, const Choice& choice, int width, int height, bool unicode);

}  // namespace sidra::top

#endif
