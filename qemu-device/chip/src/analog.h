// SPDX-License-Identifier: MIT
// Level `accurate`: the conductances of the cells, beside the target levels that Array keeps. Cells are formed,
// programmed by pulses (CellProgrammer), drift (CellClock), and are read by ADCs through wires (TileReadout). A
// crossbar takes no memory until it is programmed.
//
// Every random number is keyed by the seed and its purpose (physics/random.h), so results depend neither on threads nor
// on how work is divided. Products are numbered per object: take_products().
#ifndef SIDRA_CHIP_ANALOG_H
#define SIDRA_CHIP_ANALOG_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "cell_clock.h"
#include "cell_programmer.h"
#include "cells.h"
#include "crossbar_cells.h"
#include "geometry.h"
#include "lazy_memory.h"
#include "sidra_chip.h"
#include "tile_readout.h"

namespace sidra::chip {

// Thread-safe, except that only one thread at a time may change a crossbar (Array's lock ensures that). `now`: time of
// the cells' clock.
class Analog {
   public:
    // `stuck`: share of cells that forming leaves stuck, half of them at low conductance.
    Analog(uint32_t xbars, double stuck, uint64_t seed);

    CellClock& clock() { return clock_; }
    const CellClock& clock() const { return clock_; }
    CellProgrammer& programmer() { return programmer_; }
    const CellProgrammer& programmer() const { return programmer_; }

    CrossbarCells copy(uint32_t xbar) const;
    // Whether the crossbar was never used.
    bool blank(uint32_t xbar) const;
    void take(const CrossbarCells& content);

    // Verifies cells, see CellProgrammer; counts it.
    CellCheck verify(const CellBlock& block, const uint8_t* levels, double tolerance, double now, uint8_t* off);
    // The levels nearest to the conductances of the cells.
    void read(const CellBlock& block, uint8_t* levels, double now) const;

    // Gives a job the readouts of these crossbars at a time; it must make() those that are unmade before it reads them.
    // False, and none, if other jobs hold as many of a crossbar as there may be: then these are wanted().
    bool share(std::span<const uint32_t> xbars, sidra_encoding encoding, double now, Readouts* readouts);
    // Makes the readout, in kTileNs, if nobody has: of the content that the crossbar has then.
    void make(const TileShape& shape, double now, SharedReadout* readout);
    // Whether another job has begun to wait for one of these since the last call.
    bool wanted(Readouts* readouts) const;
    // Estimates of host time, for slices: of make(), and of share() for each crossbar.
    static constexpr uint64_t kTileNs = 45'000'000, kShareNs = 250;
    uint64_t readouts_made() const { return made_.load(std::memory_order_relaxed); }

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

    CellCounts counts(uint32_t xbar) const;
    uint32_t programs(uint32_t xbar) const;
    // The range belongs to the content with this program count. Returns false if there is no such crossbar.
    bool set_counts(uint32_t xbar, const CellCounts& counts, uint32_t programs);

    // Fills in the fields of a crossbar's report about pulses and their results.
    void report(uint32_t xbar, double now, sidra_hw_xbar_report* report) const;
    uint32_t stuck(uint32_t xbar) const { return state(xbar).stuck.load(std::memory_order_relaxed); }

    // Restores the content of a crossbar in factory state. Returns false if it is invalid or was restored before.
    bool restore(const CrossbarCells& content);
    void forget(uint32_t xbar);  // returns one crossbar to factory state
    void clear();                // returns all of them, and the chip continues with its original seed

   private:
    struct State {
        CellRecord record;
        std::atomic<uint32_t> checks, range;  // CellCounts, which change without a lock
        std::atomic<uint64_t> products, clipped;
        std::atomic<uint32_t> stuck;
        bool touched;  // cells are in use
        bool restored;
        uint64_t version;  // unique, changes with each change of conductances
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
    CellCounts counts_locked(const State& state) const;
    void take_locked(const CrossbarCells& content);

    static constexpr size_t kLocks = 64;

    const physics::CellParameters parameters_;
    const uint64_t first_seed_;
    CellProgrammer programmer_;
    CellClock clock_;
    LazyMemory g_;       // stored conductances, [xbar][row][column]
    LazyMemory cells_;   // CellState, same order
    LazyMemory bad_;     // bits, same order
    LazyMemory states_;  // State[xbar]
    TileCache tiles_;
    Counters counters_;
    std::atomic<uint64_t> stuck_cells_{0}, spare_columns_{0};
    std::atomic<uint64_t> versions_{0};  // the last one
    std::atomic<uint64_t> made_{0};      // readouts
    std::atomic<uint64_t> wishes_{0};    // calls of share() that failed
    std::mutex sharing_;                 // so that of two jobs one gets all of its readouts; taken first
    mutable std::mutex locks_[kLocks];   // protect a crossbar's state, cells and readouts; held briefly
    std::mutex making_locks_[kLocks];    // serialize the creation of a readout; taken before that lock
};

}  // namespace sidra::chip

#endif
