// SPDX-License-Identifier: MIT
// The layout of a matrix on crossbars: a grid of tiles, row-major.
#ifndef SIDRA_TILES_H
#define SIDRA_TILES_H

#include <cstdint>

#include "sidra/sidra.h"
#include "sidra_hw.h"

namespace sidra {

inline constexpr uint32_t kTileRows = SIDRA_XBAR_ROWS;
inline constexpr uint32_t kCellsPerWeightDifferential = 2;

inline uint32_t tile_cols_of(sidra_weights_encoding encoding) {
    return encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? SIDRA_XBAR_COLS / kCellsPerWeightDifferential : SIDRA_XBAR_COLS;
}
inline uint64_t tiles_down(uint32_t k) { return (uint64_t{k} + kTileRows - 1) / kTileRows; }
inline uint64_t tiles_across(uint32_t n, sidra_weights_encoding encoding) {
    const uint32_t cols = tile_cols_of(encoding);
    return (uint64_t{n} + cols - 1) / cols;
}

}  // namespace sidra

#endif
