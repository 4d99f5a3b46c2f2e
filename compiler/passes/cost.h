// SPDX-License-Identifier: MIT
// What a call takes of a chip, by the cost model of the chip.
#ifndef SIDRA_COMPILER_COST_H
#define SIDRA_COMPILER_COST_H

#include <mlir/IR/Operation.h>

#include <cstdint>

#include "xbar.h"

namespace sidra::compiler {

inline constexpr int64_t kTileRows = 256, kTileColumns = 128;  // of a crossbar, with two cells for each weight

// Crossbars of one matrix, with one or two cells for each weight.
uint64_t crossbars_of(uint64_t rows, uint64_t columns, uint32_t cells = 2);
uint64_t crossbars_of(xbar::MatrixType matrix, uint32_t cells = 2);

// Of a chip's link to the host, over which chips get what others have computed.
uint64_t link_bytes_per_ns();

// The time of a call of the dialect xbar, in ps; 0 for other operations, and for the host's functions.
uint64_t time_of(mlir::Operation* call);

}  // namespace sidra::compiler

#endif
