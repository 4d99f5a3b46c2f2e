// SPDX-License-Identifier: MIT
// The wires of the Y1 chip's crossbars.
#ifndef SIDRA_PHYSICS_CHIP_WIRES_H
#define SIDRA_PHYSICS_CHIP_WIRES_H

#include "wires.h"

namespace sidra::physics {

// [Y1] The resistance of a line is 607 ohm, so 607 / 256 ohm between two cells. [ours] Columns are like rows, and rows
// are driven at one end.
inline constexpr Wires kChipWires{607.0 / 256, 607.0 / 256, false};

}  // namespace sidra::physics

#endif
