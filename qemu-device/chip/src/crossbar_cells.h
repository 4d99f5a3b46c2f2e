// SPDX-License-Identifier: MIT
// Level `accurate`: the cells of one crossbar, and what is known of them.
#ifndef SIDRA_CHIP_CROSSBAR_CELLS_H
#define SIDRA_CHIP_CROSSBAR_CELLS_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cells.h"
#include "ispp.h"
#include "sidra_hw.h"

namespace sidra::chip {

// What programming leaves.
struct CellRecord {
    uint32_t programs;  // number of times the crossbar was programmed or refreshed
    double since;       // time of the cells' clock to which the stored conductances belong
    uint64_t time_ps;   // that programming has taken since the crossbar was erased
    physics::IsppTotals totals;
    uint64_t recovered;              // cells that converged in a retry
    uint64_t bad;                    // cells in use that did not converge in their last programming
    uint8_t moved[SIDRA_XBAR_COLS];  // physical column, XOR column number

    uint32_t column(uint32_t of) const { return of ^ moved[of]; }
    uint32_t moved_columns() const {
        return static_cast<uint32_t>(
            std::count_if(std::begin(moved), std::end(moved), [](uint8_t each) { return each != 0; }));
    }
};

// What computing changes, too.
struct CellCounts {
    uint32_t checks = 0;  // number of times the crossbar was verified
    uint32_t range = 0;   // half of the ADCs' range, in (input * weight), as calibrated with vectors; 0: adaptive
    uint64_t products = 0, clipped = 0;
};

// A copy of the cells of a crossbar. Changes are made in a copy, which is saved before Analog::take() makes it current.
// So a change is complete or absent, wherever the process ends.
struct CrossbarCells {
    uint32_t xbar = 0;
    bool touched = false;     // cells are in use
    bool erased = false;      // since the copy: products count from 0 again
    bool programmed = false;  // since the copy: the ADCs' range is adaptive again
    CellRecord record{};
    CellCounts counts{};
    std::vector<uint16_t> g;  // stored conductances; kXbarCells elements, row after row
    std::vector<physics::CellState> cells;
    std::vector<uint64_t> bad;  // one bit per cell: it did not converge in its last programming
    // Totals since the copy.
    struct {
        uint64_t pulses = 0, reads = 0, failed = 0, mended = 0;
    } took;

    bool is_bad(uint32_t cell) const { return bad[cell / 64] >> (cell % 64) & 1; }
    void set_bad(uint32_t cell, bool is) {
        const uint64_t bit = uint64_t{1} << (cell % 64);
        if (is) bad[cell / 64] |= bit;
        else bad[cell / 64] &= ~bit;
    }
};

}  // namespace sidra::chip

#endif
