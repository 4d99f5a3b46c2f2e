// SPDX-License-Identifier: MIT
// The whole screen, from what there is to show.
#ifndef SIDRA_SMI_TOP_SCREEN_H
#define SIDRA_SMI_TOP_SCREEN_H

#include <vector>

#include "grid.h"
#include "view.h"

namespace sidra::top {

Grid draw(const std::vector<Chip>& chips, const Choice& choice, int width, int height, bool unicode);

}  // namespace sidra::top

#endif
