// SPDX-License-Identifier: MIT
// Level `accurate`: the conductances of the cells, beside the target levels that Array keeps. Cells are formed,
// programmed by pulses, drift, and are read by ADCs through wires. A crossbar takes no memory until it is programmed.
//
// Every random number is keyed by the seed and its purpose (physics/random.h), so results depend neither on threads nor
// on how work is divided. Products are numbered per object: take_products().
#ifndef SIDRA_CHIP_ANALOG_H
#define SIDRA_CHIP_ANALOG_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cells.h"
#include "cost_model.h"
#include "geometry.h"
#include "ispp.h"
#include "lazy_memory.h"
#include "readout.h"
#include "sidra_chip.h"
#include "wires.h"

namespace sidra::chip {

// [Y1] The resistance of a line is 607 ohm, so 607 / 256 ohm between two cells. [ours] Columns are like rows, and rows
// are driven at one end.
inline constexpr physics::Wires kWires{607.0 / 256, 607.0 / 256, false};

// A rectangle of cells, in the column numbers of the weights. Analog maps these to physical columns.
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

// The clock for the ageing of cells, in seconds of the device clock at the reference temperature of drift. It runs
// faster when the chip is hotter.
class CellClock {
   public:
    explicit CellClock(const physics::CellParameters& cells);
    double now(uint64_t device_ns) const;
    // Return false and change nothing if the argument is out of range.
    bool set_temperature(int64_t milli_celsius, uint64_t device_ns);
    bool age(uint64_t seconds, uint64_t device_ns);
    bool set(double now, uint64_t device_ns);
    static bool is_time(double now);  // whether the clock can represent this time

   private:
    double now_locked(uint64_t device_ns) const;

    const physics::CellParameters& cells_;
    mutable std::mutex lock_;
    double base_ = 0;  // value at since_ns_
    uint64_t since_ns_ = 0;
    double speed_;
};

// Thread-safe, except that only one thread at a time may change a crossbar (Array's lock ensures that). `now`: time of
// the cells' clock.
class Analog {
   public:
    // `stuck`: share of cells that forming leaves stuck, half of them at low conductance.
    Analog(uint32_t xbars, double stuck, uint64_t seed);

    CellClock& clock() { return clock_; }
    const CellClock& clock() const { return clock_; }

    // How cells are programmed from now on.
    struct Policy {
        physics::IsppMode mode = physics::IsppMode::kErrorSized;
        uint32_t tries = 15;
        double tolerance = 0.01;  // of G_max
        uint32_t retries = 1;     // after a RESET, for cells that did not converge
        uint32_t spare = 4;       // a column with more bad cells than this is replaced by an unused column
    };
    void set_policy(const Policy& policy);

    // Replaces the seed: a chip continues with its original seed, whatever seed it is opened with. No other call may
    // run.
    void reseed(uint64_t seed);
    uint64_t seed() const { return seed_; }

    // The content of a crossbar, as saved.
    struct Image {
        uint32_t programs;  // number of times it was programmed or refreshed
        uint32_t checks;    // number of times it was verified
        double since;
        uint64_t products, clipped, time_ps;
        physics::IsppTotals totals;
        uint64_t recovered;              // cells that converged in a retry
        uint64_t bad;                    // cells in use that did not converge in their last programming
        uint8_t moved[SIDRA_XBAR_COLS];  // physical column, XOR column number
    };
    // A copy of the content of a crossbar. Changes are made in a copy, which is saved before take() makes it current.
    // So a change is complete or absent, wherever the process ends.
    struct Content {
        uint32_t xbar = 0;
        bool touched = false;     // cells are in use
        bool erased = false;      // since the copy: products count from 0 again
        bool programmed = false;  // since the copy: the ADCs' range is adaptive again
        uint32_t range = 0;  // half of the ADCs' range, in (input * weight), as calibrated with vectors; 0: adaptive
        Image image{};
        std::vector<uint16_t> g;  // kXbarCells elements each
        std::vector<physics::CellState> cells;
        std::vector<uint64_t> bad;  // one bit per cell: it did not converge in its last programming
        // Totals since the copy.
        struct {
            uint64_t pulses = 0, reads = 0, failed = 0, mended = 0;
        } took;

        uint32_t column(uint32_t of) const { return of ^ image.moved[of]; }
        bool is_bad(uint32_t cell) const { return bad[cell / 64] >> (cell % 64) & 1; }
        void set_bad(uint32_t cell, bool is);
    };
    Content copy(uint32_t xbar) const;
    // Whether the crossbar was never used.
    bool blank(uint32_t xbar) const;
    void take(const Content& content);

    // Programs cells to levels (row after row) and returns the cost. Rows are programmed one after another; the slowest
    // cell of a row determines its time.
    Cost program(Content* content, const CellBlock& block, const uint8_t* levels, double now) const;
    // Replaces each column that has more bad cells in these rows than the policy allows by an unused column, and
    // programs that. Columns of a pair move together. Stops when no better columns are left; the remaining bad cells
    // are reported.
    struct Use {
        uint64_t rows[SIDRA_XBAR_ROWS / 64];  // programmed rows
        uint32_t cols, together;  // number of columns in use, from column 0; number of columns that move together
    };
    Cost replace_columns(Content* content, const Use& use, const uint8_t* levels) const;
    // Reads formed cells and compares them with levels. `off` has one element per cell of the block; it is 1 if the
    // error exceeds the tolerance (relative to G_max).
    CellCheck verify(const CellBlock& block, const uint8_t* levels, double tolerance, double now, uint8_t* off);
    // Reprograms the cells marked in `off`, as program() does; adds the result to that of verify().
    void mend(Content* content, const CellBlock& block, const uint8_t* levels, const uint8_t* off, double now,
              CellCheck* check) const;
    // The levels nearest to the conductances of the cells.
    void read(const CellBlock& block, uint8_t* levels, double now) const;
    // Applies a RESET to every formed cell.
    void erase(Content* content) const;
    // hold() makes a cell stuck at a level; release() makes it work again from its next programming on.
    void hold(Content* content, uint32_t cell, uint8_t level) const;
    void release(Content* content, uint32_t cell) const;

    // The part of a crossbar that an object uses, and the sum of the weights of each output.
    struct TileShape {
        uint32_t xbar, rows, outputs;
        sidra_encoding encoding;
        const int32_t* sums;
    };
    // A programmed tile as seen by its ADCs.
    struct Tile {
        Tile(const TileShape& shape, const double* effective, uint64_t seed);
        physics::Readout readout;
        // The gain error of each column, per unit of the sum of all inputs, as measured with equal inputs. It is
        // subtracted after the ADCs: in offset encoding, the loss that wires cause in all cells alike would otherwise
        // dominate the result.
        float excess[SIDRA_XBAR_COLS];
    };
    // Created on first use and after conductances have changed, in kTileNs.
    std::shared_ptr<const Tile> tile(const TileShape& shape, double now);
    bool has_tile(uint32_t xbar, double now) const;
    static constexpr uint64_t kTileNs = 45'000'000;  // estimate of host time, for slices

    // Reserves `count` product numbers of the object whose first crossbar this is, and returns the first one. Numbers
    // start with 0 when an object is programmed.
    uint64_t take_products(uint32_t xbar, uint64_t count);
    void count_clipped(uint32_t xbar, uint64_t count);
    // Half of the calibrated range of the ADCs; 0: adaptive. widen() increases the range to what vectors need.
    uint32_t range(uint32_t xbar) const { return state(xbar).range.load(std::memory_order_relaxed); }
    void let_follow(uint32_t xbar) { state(xbar).range.store(0, std::memory_order_relaxed); }
    void widen(uint32_t xbar, double needed);
    // Totals of all crossbars since power-on, for telemetry.
    struct Counters {
        std::atomic<uint64_t> pulses{0}, reads{0}, failed{0}, clipped{0}, mended{0};  // mended: cells
    };
    Counters& counters() { return counters_; }
    // Current numbers of all crossbars.
    uint64_t stuck_cells() const { return stuck_cells_.load(std::memory_order_relaxed); }
    uint64_t spare_columns() const { return spare_columns_.load(std::memory_order_relaxed); }

    // Values that change without programming.
    struct Counts {
        uint32_t xbar, checks;
        uint64_t products, clipped;
        uint32_t range, programs;  // range belongs to the content with this program count
        bool operator==(const Counts&) const = default;
    };
    Counts counts(uint32_t xbar) const;
    // Returns false if there is no such crossbar.
    bool set_counts(const Counts& counts);

    // Fills in the fields of a crossbar's report about pulses and their results.
    void report(uint32_t xbar, double now, sidra_hw_xbar_report* report) const;
    uint32_t stuck(uint32_t xbar) const { return state(xbar).stuck.load(std::memory_order_relaxed); }

    // Restores the content of a crossbar in factory state. Returns false if it is invalid or was restored before.
    bool restore(const Content& content);
    void forget(uint32_t xbar);  // returns one crossbar to factory state
    void clear();                // returns all of them

   private:
    struct State {
        bool touched;  // cells are in use
        bool restored;
        uint32_t programs;
        std::atomic<uint32_t> checks;
        std::atomic<uint32_t> stuck;
        uint64_t version;  // changes with each change of conductances
        double since;      // time to which the stored conductances belong
        std::atomic<uint64_t> products;
        std::atomic<uint64_t> clipped;
        std::atomic<uint32_t> range;
        physics::IsppTotals totals;
        uint64_t time_ps;
        uint64_t recovered, bad;
        uint8_t moved[SIDRA_XBAR_COLS];
    };
    struct Cached {
        uint64_t version = 0;
        uint32_t drift = 0;
        std::shared_ptr<const Tile> tile;
    };

    State& state(uint32_t xbar) const { return reinterpret_cast<State*>(states_.data())[xbar]; }
    uint16_t* g(uint32_t xbar) const { return reinterpret_cast<uint16_t*>(g_.data()) + size_t{xbar} * kXbarCells; }
    physics::CellState* cells(uint32_t xbar) const {
        return reinterpret_cast<physics::CellState*>(cells_.data()) + size_t{xbar} * kXbarCells;
    }
    uint64_t* bad(uint32_t xbar) const {
        return reinterpret_cast<uint64_t*>(bad_.data()) + size_t{xbar} * (kXbarCells / 64);
    }
    std::mutex& lock(uint32_t xbar) const { return locks_[xbar % kLocks]; }
    // The parameters of programming. A programming in progress keeps its own.
    struct Loop {
        std::shared_ptr<const physics::Ispp> ispp;
        Policy policy;
    };
    Loop loop() const;
    void make_ispp_locked();
    uint32_t drift(double seconds) const;
    void age(Content* content, double now) const;
    void take_locked(const Content& content);
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
    void form(Content* content, const Wanted& wanted) const;
    Pulsed pulse(Content* content, const Wanted& wanted, uint32_t program) const;
    bool use_column(Content* content, const Use& use, uint32_t from, uint32_t to, uint32_t bad, const uint8_t* levels,
                    Cost* cost) const;
    std::shared_ptr<const Tile> make_tile(const TileShape& shape, uint64_t seed, std::vector<double> g,
                                          const uint8_t* moved) const;

    static constexpr size_t kLocks = 64;

    const physics::CellParameters parameters_;
    const uint64_t first_seed_;
    uint64_t seed_;
    Policy policy_;
    std::shared_ptr<const physics::Ispp> ispp_;
    mutable std::mutex ispp_lock_;  // protects policy_ and ispp_
    CellClock clock_;
    LazyMemory g_;       // stored conductances, [xbar][row][column]
    LazyMemory cells_;   // CellState, same order
    LazyMemory bad_;     // bits, same order
    LazyMemory states_;  // State[xbar]
    std::vector<Cached> cached_;
    Counters counters_;
    std::atomic<uint64_t> stuck_cells_{0}, spare_columns_{0};
    mutable std::mutex locks_[kLocks];         // protect a crossbar's state, cells and cache; held briefly
    mutable std::mutex making_locks_[kLocks];  // serialize the creation of a tile; taken first
};

}  // namespace sidra::chip

#endif
