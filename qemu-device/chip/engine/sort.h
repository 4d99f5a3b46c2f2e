// SPDX-License-Identifier: MIT
// Sorting of rows. The same for all engines: it moves elements and computes nothing.
#ifndef SIDRA_CHIP_ENGINE_SORT_H
#define SIDRA_CHIP_ENGINE_SORT_H

#include <cstddef>
#include <cstdint>

#include "sidra_cmd.h"

namespace sidra::engine {

// The first `count` elements of each row in the order of struct sidra_cmd_sort, and the columns where they were. The
// outputs overlap neither each other nor the input. The input may change meanwhile: then the outputs are any of its
// elements, and any columns.
struct Sort {
    const void* in;
    void* values;                                     // nullptr: not wanted
    void* indices;                                    // nullptr: not wanted
    size_t in_stride, values_stride, indices_stride;  // bytes between rows
    uint32_t rows;
    uint32_t cols;   // 1..SIDRA_SORT_COLS_MAX
    uint32_t count;  // 1..cols
    uint8_t type;
    uint8_t index_type;  // S32 or S64
    bool descending;
};

// Scratch memory that sort_rows() needs, 64-byte aligned.
constexpr size_t sort_scratch(size_t cols) { return 2 * cols * 16; }

void sort_rows(const Sort&, uint8_t* scratch);

}  // namespace sidra::engine

#endif
