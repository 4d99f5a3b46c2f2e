// SPDX-License-Identifier: MIT
// The numbers of units in a chip.
#ifndef SIDRA_CHIP_GEOMETRY_H
#define SIDRA_CHIP_GEOMETRY_H

#include <cstdint>

#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip {

struct Geometry {
    uint32_t clusters;
    uint32_t cus_per_cluster;
    uint32_t xbars_per_cu;
    uint32_t l1_size;   // bytes per CU
    uint32_t l2_size;   // bytes per cluster
    uint64_t l3_size;   // bytes
    uint64_t nvm_size;  // bytes

    constexpr uint32_t xbars() const { return clusters * cus_per_cluster * xbars_per_cu; }
};

inline constexpr uint32_t kXbarCells = SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS;

// y1: public figures [Y1]. small: the same kinds of units, fewer of them, for tests. The size of the NVM is [ours].
inline constexpr Geometry kGeometryY1 = {16, 25, 16, 128u << 10, 2u << 20, 16u << 20, 4u << 20};
inline constexpr Geometry kGeometrySmall = {1, 2, 4, 128u << 10, 2u << 20, 1u << 20, 1u << 20};

static_assert(kGeometryY1.xbars() == 6400 && uint64_t{kGeometryY1.xbars()} * kXbarCells == 419'430'400);

}  // namespace sidra::chip

#endif
