// SPDX-License-Identifier: MIT
// Level `accurate`: programs, verifies and mends cells by pulses, and replaces columns that stay bad. Works on copies
// of a crossbar; the same copy gives the same result on any thread.
#ifndef SIDRA_CHIP_CELL_PROGRAMMER_H
#define SIDRA_CHIP_CELL_PROGRAMMER_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cost_model.h"
#include "crossbar_cells.h"
#include "geometry.h"
#include "ispp.h"

namespace sidra::chip {

// A rectangle of cells, in the column numbers of the weights; CellRecord::moved maps these to physical columns.
struct CellBlock {
    uint32_t xbar, row0, rows, col0, cols;
};

// The result of verifying cells, and of reprogramming those with errors.
struct CellCheck {
    uint64_t cells = 0;   // verified
    uint64_t off = 0;     // with an error above the tolerance
    uint64_t failed = 0;  // of those: reprogrammed without success
    uint64_t pulses = 0;
    double worst = 0, error_sum = 0;  // absolute read errors, relative to G_max
    Cost cost;
    void add(const CellCheck& other);
};

// The rows and columns of a crossbar that an object uses.
struct CellUse {
    uint64_t rows[SIDRA_XBAR_ROWS / 64];  // programmed rows, as bits
    uint32_t cols, together;  // number of columns in use, from column 0; number of columns that move together
};

// Thread-safe. `now`: time of the cells' clock.
class CellProgrammer {
   public:
    CellProgrammer(const physics::CellParameters& cells, uint64_t seed);

    // How cells are programmed from now on.
    struct Policy {
        physics::IsppMode mode = physics::IsppMode::kErrorSized;
        uint32_t tries = 15;
        double tolerance = 0.01;  // of G_max
        uint32_t retries = 1;     // after a RESET, for cells that did not converge
        uint32_t spare = 4;       // a column with more bad cells than this is replaced by an unused column
    };
    void set_policy(const Policy& policy);
    // No other call may run.
    void reseed(uint64_t seed);
    uint64_t seed() const { return seed_; }

    // Programs cells to levels (row after row) and returns the cost. Rows are programmed one after another; the slowest
    // cell of a row determines its time.
    Cost program(CrossbarCells* content, const CellBlock& block, const uint8_t* levels, double now) const;
    // Replaces each column that has more bad cells in these rows than the policy allows by an unused column, and
    // programs that. Columns of a pair move together. Stops when no better columns are left; the remaining bad cells
    // are reported.
    Cost replace_columns(CrossbarCells* content, const CellUse& use, const uint8_t* levels) const;
    // Reads formed cells, for the time `number`, and compares them with levels. `off` has one element per cell of the
    // block; it is 1 if the error exceeds the tolerance (relative to G_max).
    CellCheck verify(const CrossbarCells& content, uint32_t number, const CellBlock& block, const uint8_t* levels,
                     double tolerance, double now, uint8_t* off) const;
    // Reprograms the cells marked in `off`, as program() does; adds the result to that of verify().
    void mend(CrossbarCells* content, const CellBlock& block, const uint8_t* levels, const uint8_t* off, double now,
              CellCheck* check) const;
    // Applies a RESET to every formed cell.
    void erase(CrossbarCells* content) const;
    // hold() makes a cell stuck at a level; release() makes it work again from its next programming on.
    void hold(CrossbarCells* content, uint32_t cell, uint8_t level) const;
    void release(CrossbarCells* content, uint32_t cell) const;

   private:
    // The parameters of programming. A programming in progress keeps its own.
    struct Loop {
        std::shared_ptr<const physics::Ispp> ispp;
        Policy policy;
    };
    Loop loop() const;
    void make_ispp_locked();
    void age(CrossbarCells* content, double now) const;
    // Physical cells to be programmed.
    struct Wanted {
        std::vector<uint8_t> level, which;  // kXbarCells elements each; `which`: 1 for these cells
        Wanted() : level(kXbarCells), which(kXbarCells) {}
        void add(uint32_t cell, uint8_t its_level) {
            level[cell] = its_level;
            which[cell] = 1;
        }
    };
    struct Pulsed {
        physics::IsppTotals totals;
        uint64_t time_ps, recovered;
    };
    void form(CrossbarCells* content, const Wanted& wanted) const;
    Pulsed pulse(CrossbarCells* content, const Wanted& wanted, uint32_t program) const;
    bool use_column(CrossbarCells* content, const CellUse& use, uint32_t from, uint32_t to, uint32_t bad,
                    const uint8_t* levels, Cost* cost) const;

    const physics::CellParameters& parameters_;
    uint64_t seed_;
    Policy policy_;
    std::shared_ptr<const physics::Ispp> ispp_;
    mutable std::mutex ispp_lock_;  // protects policy_ and ispp_
};

}  // namespace sidra::chip

#endif
