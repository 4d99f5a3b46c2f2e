// SPDX-License-Identifier: MIT
// What the cells of a crossbar conduct, as a chunk: the counts, and behind them the conductances and then the states of
// all cells; or, where that is shorter, runs of cells that are the same (all of a crossbar that was erased, but for
// those that are stuck).
#ifndef SIDRA_CHIP_CELLS_CHUNK_H
#define SIDRA_CHIP_CELLS_CHUNK_H

#include <cstdint>
#include <span>
#include <vector>

#include "analog.h"

namespace sidra::chip {

inline constexpr size_t kCellsChunkMax = 8 + sizeof(Analog::Image) + kXbarCells * (sizeof(uint16_t) + sizeof(uint8_t));

std::vector<uint8_t> cells_chunk(const Analog::Content& content);
// False: it is none. What it says is for Analog::restore() to judge.
bool parse_cells_chunk(std::span<const uint8_t> chunk, Analog::Content* content);

}  // namespace sidra::chip

#endif
