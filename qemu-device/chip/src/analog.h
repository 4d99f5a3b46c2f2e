// SPDX-License-Identifier: MIT
// Level `accurate`: what the cells of the crossbars really conduct, beside the levels that Array keeps of them (those
// are what was asked for): formed and programmed by pulses, drifting, behind wires, read by ADCs. Costs no memory until
// a crossbar is programmed.
//
// Everything random is keyed by the seed and by what it is for (physics/random.h), so results depend neither on threads
// nor on how work is cut. Products are numbered by their object: take_products().
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

// Public: a line of 607 ohm, so 1 / 256 of that between two cells. That columns are as rows are, and that rows are
// driven at one end, is ours.
inline constexpr physics::Wires kWires{607.0 / 256, 607.0 / 256, false};

// A rectangle of cells, by the columns that weights have. Where these lie is Analog's to know.
struct CellBlock {
    uint32_t xbar, row0, rows, col0, cols;
};

// What looking at cells has found, and pulsing those again that were off has done.
struct CellCheck {
    uint64_t cells = 0;   // looked at
    uint64_t off = 0;     // by more than the tolerance
    uint64_t failed = 0;  // of those: pulsed again, and off still
    uint64_t pulses = 0;
    double worst = 0, error_sum = 0;  // of errors as read, without their signs, of G_max
    Cost cost;
    void add(const CellCheck& other);
};

// The time that cells age by: seconds, of the device clock at the temperature that drift is given for; when the chip is
// hotter it runs faster.
class CellClock {
   public:
    explicit CellClock(const physics::CellParameters& cells);
    double now(uint64_t device_ns) const;
    // False: out of range, and nothing has changed.
    bool set_temperature(int64_t milli_celsius, uint64_t device_ns);
    bool age(uint64_t seconds, uint64_t device_ns);
    bool set(double now, uint64_t device_ns);
    static bool is_time(double now);  // that this clock can show

   private:
    double now_locked(uint64_t device_ns) const;

    const physics::CellParameters& cells_;
    mutable std::mutex lock_;
    double base_ = 0;  // at since_ns_
    uint64_t since_ns_ = 0;
    double speed_;
};

// Thread-safe, but that one thread at a time changes a crossbar: Array's lock sees to it. `now` is the cells' clock.
class Analog {
   public:
    // `stuck`: share of cells that forming leaves stuck, half of them low.
    Analog(uint32_t xbars, double stuck, uint64_t seed);

    CellClock& clock() { return clock_; }
    const CellClock& clock() const { return clock_; }

    // How cells are pulsed from now on.
    struct Policy {
        physics::IsppMode mode = physics::IsppMode::kErrorSized;
        uint32_t tries = 15;
        double tolerance = 0.01;  // of G_max
        uint32_t retries = 1;     // of cells that did not arrive, each after a RESET
        uint32_t spare = 4;       // a column with more bad cells than that is replaced by one that is not in use
    };
    void set_policy(const Policy& policy);

    // Of everything random from now on: a chip goes on with the seed that it began with, whatever it is opened with.
    // Nobody else calls anything meanwhile.
    void reseed(uint64_t seed);
    uint64_t seed() const { return seed_; }

    // What a crossbar holds, for keeping and saving.
    struct Image {
        uint32_t programs;  // how often it was programmed or mended
        uint32_t checks;    // how often it was looked at
        double since;
        uint64_t products, clipped, time_ps;
        physics::IsppTotals totals;
        uint64_t recovered;              // cells that arrived when they were tried again
        uint64_t bad;                    // cells in use that did not arrive when they were pulsed last
        uint8_t moved[SIDRA_XBAR_COLS];  // of a column: where it lies, XOR its number
    };
    // A copy of what a crossbar holds. What changes cells changes a copy, and is kept before take() makes it the
    // crossbar's own: so there is no half of it, wherever it ends.
    struct Content {
        uint32_t xbar = 0;
        bool touched = false;     // cells mean something
        bool erased = false;      // since it was copied: products count from 0 again
        bool programmed = false;  // since then: the ADCs follow products again
        uint32_t range = 0;       // half of the ADCs', in (input * weight), as vectors have set it; 0: it follows
        Image image{};
        std::vector<uint16_t> g;  // kXbarCells of each
        std::vector<physics::CellState> cells;
        std::vector<uint64_t> bad;  // one bit a cell: it did not arrive when it was pulsed last
        // Since it was copied.
        struct {
            uint64_t pulses = 0, reads = 0, failed = 0, mended = 0;
        } took;

        uint32_t column(uint32_t of) const { return of ^ image.moved[of]; }
        bool is_bad(uint32_t cell) const { return bad[cell / 64] >> (cell % 64) & 1; }
        void set_bad(uint32_t cell, bool is);
    };
    Content copy(uint32_t xbar) const;
    // Nothing was ever done to it.
    bool blank(uint32_t xbar) const;
    void take(const Content& content);

    // Programs cells to levels (row after row), and says what that took: a row at a time, each as long as its slowest
    // cell.
    Cost program(Content* content, const CellBlock& block, const uint8_t* levels, double now) const;
    // Moves columns in use with more bad cells in these rows than the policy bears to columns that are not, and
    // programs those. Pairs of columns go together. As long as there are some that are better: what stays bad is
    // reported.
    struct Use {
        uint64_t rows[SIDRA_XBAR_ROWS / 64];  // programmed
        uint32_t cols, together;              // columns in use: the first ones; how many belong together
    };
    Cost replace_columns(Content* content, const Use& use, const uint8_t* levels) const;
    // Reads cells that were formed, and compares them with levels: those off by more than the tolerance (of G_max) are
    // 1 in `off`, which has a place for each cell of the block.
    CellCheck verify(const CellBlock& block, const uint8_t* levels, double tolerance, double now, uint8_t* off);
    // Pulses those that are off again, as program() does; adds to what verify() has found.
    void mend(Content* content, const CellBlock& block, const uint8_t* levels, const uint8_t* off, double now,
              CellCheck* check) const;
    // The levels that are nearest to what the cells conduct.
    void read(const CellBlock& block, uint8_t* levels, double now) const;
    // A RESET of every cell that follows.
    void erase(Content* content) const;
    // A cell keeps a level from now on; follows again when it is programmed the next time.
    void hold(Content* content, uint32_t cell, uint8_t level) const;
    void release(Content* content, uint32_t cell) const;

    // The part of a crossbar that an object uses, and the sums of its weights, by output.
    struct TileShape {
        uint32_t xbar, rows, outputs;
        sidra_encoding encoding;
        const int32_t* sums;
    };
    // A programmed tile as its ADCs see it.
    struct Tile {
        Tile(const TileShape& shape, const double* effective, uint64_t seed);
        physics::Readout readout;
        // How much too much a column gives for each unit of all inputs together, as is measured with inputs that are
        // all the same. Taken off behind the ADCs: what wires take from all cells alike would be most of an offset
        // code.
        float excess[SIDRA_XBAR_COLS];
    };
    // Made when it is asked for first, or after conductances have changed: kTileNs.
    std::shared_ptr<const Tile> tile(const TileShape& shape, double now);
    bool has_tile(uint32_t xbar, double now) const;
    static constexpr uint64_t kTileNs = 45'000'000;  // estimate for slices

    // Numbers for products of the object whose first crossbar this is: the first of `count`. They begin with 0 when an
    // object is programmed.
    uint64_t take_products(uint32_t xbar, uint64_t count);
    void count_clipped(uint32_t xbar, uint64_t count);
    // Half of the range that its ADCs hold; 0: they follow products. It grows by what vectors need, from 0 on.
    uint32_t range(uint32_t xbar) const { return state(xbar).range.load(std::memory_order_relaxed); }
    void let_follow(uint32_t xbar) { state(xbar).range.store(0, std::memory_order_relaxed); }
    void widen(uint32_t xbar, double needed);
    // What all crossbars took since power-on, for telemetry.
    struct Counters {
        std::atomic<uint64_t> pulses{0}, reads{0}, failed{0}, clipped{0}, mended{0};  // cells, the last ones
    };
    Counters& counters() { return counters_; }
    // Of all crossbars, now.
    uint64_t stuck_cells() const { return stuck_cells_.load(std::memory_order_relaxed); }
    uint64_t spare_columns() const { return spare_columns_.load(std::memory_order_relaxed); }

    // What changes while nothing is programmed.
    struct Counts {
        uint32_t xbar, checks;
        uint64_t products, clipped;
        uint32_t range, programs;  // the former counts for what was programmed then
        bool operator==(const Counts&) const = default;
    };
    Counts counts(uint32_t xbar) const;
    // False: no such crossbar.
    bool set_counts(const Counts& counts);

    // The part of a crossbar's report that is about pulses and what became of them.
    void report(uint32_t xbar, double now, sidra_hw_xbar_report* report) const;
    uint32_t stuck(uint32_t xbar) const { return state(xbar).stuck.load(std::memory_order_relaxed); }

    // False: no crossbar can hold this, or it was restored before. Into one that was cleared.
    bool restore(const Content& content);
    void clear();  // as it left the factory

   private:
    struct State {
        bool touched;  // cells mean something
        bool restored;
        uint32_t programs;
        std::atomic<uint32_t> checks;
        std::atomic<uint32_t> stuck;
        uint64_t version;  // moves when conductances change
        double since;      // what is stored is what they are at this time
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
    // What cells are pulsed by; one that is at work keeps what it began with.
    struct Loop {
        std::shared_ptr<const physics::Ispp> ispp;
        Policy policy;
    };
    Loop loop() const;
    void make_ispp_locked();
    uint32_t drift(double seconds) const;
    void age(Content* content, double now) const;
    void take_locked(const Content& content);
    // Cells to be pulsed, by where they lie.
    struct Wanted {
        std::vector<uint8_t> level, which;  // kXbarCells of each; `which`: 1
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
    mutable std::mutex ispp_lock_;  // of both
    CellClock clock_;
    LazyMemory g_;       // conductances as stored, [xbar][row][column]
    LazyMemory cells_;   // CellState, the same
    LazyMemory bad_;     // bits, the same
    LazyMemory states_;  // State[xbar]
    std::vector<Cached> cached_;
    Counters counters_;
    std::atomic<uint64_t> stuck_cells_{0}, spare_columns_{0};
    mutable std::mutex locks_[kLocks];         // of a crossbar's state, cells and cache; short
    mutable std::mutex making_locks_[kLocks];  // of making its tile: who else wants that one waits; taken first
};

}  // namespace sidra::chip

#endif
