// SPDX-License-Identifier: MIT
// The cells of a crossbar as a chunk: counts, followed by the conductances and states of all cells. If that is shorter,
// the cells are stored as runs of equal cells (for example, an erased crossbar with a few stuck cells).
#ifndef SIDRA_CHIP_CELLS_CHUNK_H
#define SIDRA_CHIP_CELLS_CHUNK_H

#include <cstdint>
#include <span>
#include <vector>

#include "crossbar_cells.h"
#include "geometry.h"

namespace sidra::chip {

inline constexpr size_t kCellsChunkHead = 8 + 40 + sizeof(physics::IsppTotals) + 16 + SIDRA_XBAR_COLS;
inline constexpr size_t kCellsChunkMax = kCellsChunkHead + kXbarCells * (sizeof(uint16_t) + sizeof(uint8_t));

std::vector<uint8_t> cells_chunk(const CrossbarCells& content);
// Returns false if the chunk is malformed. Analog::restore() checks the values.
bool parse_cells_chunk(std::span<const uint8_t> chunk, CrossbarCells* content);

}  // namespace sidra::chip

#endif
