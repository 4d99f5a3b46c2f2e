// SPDX-License-Identifier: MIT
// Where to cut calls that run one after another, so that several chips can work on them as a pipeline.
#ifndef SIDRA_COMPILER_CUT_H
#define SIDRA_COMPILER_CUT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "file_header.h"

namespace sidra::compiler {

using format::kStagesMax;

struct CallCost {
    uint64_t time = 0;             // ps
    uint64_t before = 0;           // bytes that a cut in front of the call moves to the next chip
    int64_t matrix = -1;           // which one it uses; -1: none
    uint64_t crossbars = 0;        // of the matrix
    uint32_t stages = UINT32_MAX;  // in which it may be: bit s of stage s
};

// What limits a stage and a cut.
struct ChipLimits {
    uint64_t crossbars = 0;
    uint64_t bytes_per_ns = 1;  // of a cut
};

struct Cut {
    std::vector<size_t> begins;  // of each stage: its first call
    uint64_t time = 0;           // ps: between two runs, which is the time of the slowest stage or cut
    uint64_t bytes = 0;          // that all cuts move in a run
};

// The cut into `stages` stages of at least one call, whose matrices fit each on its chip, with the shortest time
// between two runs; among those, one that moves the fewest bytes. Exact, by dynamic programming. None: there is no cut.
std::optional<Cut> cut(std::span<const CallCost> calls, uint32_t stages, const ChipLimits& limits);

}  // namespace sidra::compiler

#endif
