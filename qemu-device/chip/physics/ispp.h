// SPDX-License-Identifier: MIT
// ISPP: cells are programmed by pulses, with a read after each, until they read as wanted or the tries are used up.
//
// Units as in cells.h. What is random is keyed by (seed, crossbar, cell, program, pulse): results have the same bits
// however the cells are cut into blocks, on any number of threads, with any instruction set.
//
// "Public" is what is published of the Y1 chip; "ours" is a decision of this model, where nothing is published.
#ifndef SIDRA_PHYSICS_ISPP_H
#define SIDRA_PHYSICS_ISPP_H

#include <cstdint>
#include <memory>

#include "cells.h"
#include "instruction_set.h"

namespace sidra::physics {

enum class IsppMode : uint8_t {
    // Public: too low, a SET pulse of the ladder's next rung; too high, a RESET pulse and the first rung again.
    kAsPublished,
    // As that, with a RESET pulse that takes only `back_step`. Ours.
    kStepBack,
    // Each pulse, of either polarity, is as wide as the error that was read needs it. Ours, and the default: with the
    // public loop most cells do not arrive within its tries: 32 % do, by tests/physics/ispp_reference.py, and 100 %
    // here.
    kErrorSized,
};

constexpr uint32_t kMaxTries = 64;

struct IsppParameters {
    IsppMode mode = IsppMode::kErrorSized;

    // A cell has arrived if what is read differs from its level by less than tolerance - guard, of G_max. Public:
    // "+/-1 %", not of what; "strictly below"; "typically 15".
    double tolerance = 0.01;
    // Kept off the tolerance, since reads err: 0.4 % is half a step of the ADC (0.22 %) and 0.7 deviations of the
    // averaged noise (0.25 %), which leaves 99.4 % of cells truly within 1 %. Ours; the public loop has none.
    double guard = 0.004;
    uint32_t max_tries = 15;  // pulses; with 0 cells are only read

    // The ladder of SET pulses: from set_volts and set_ns of the cells on, with these steps (public), up to these caps
    // (ours; not reached in 15 tries). Widths are cut to whole ns (public: "integer arithmetic").
    double step_volts = 0.05;
    double width_growth = 1.2;
    double max_volts = 2.5;
    double max_width_ns = 200;

    // Small RESET pulses: a lower voltage than the public pulse, for which they would be shorter than a pulse can be.
    // Ours.
    double fine_reset_volts = 0.3;
    double back_step = 0.03;  // kStepBack: dose of the RESET pulse
    // kErrorSized: share of the error that a pulse is to mend. Just under 1, since the mean of a log-normal step is
    // above its median. Widths are multiples of width_step_ns. Ours.
    double gain = 0.9;
    double width_step_ns = 0.1;

    // Reads between pulses. The noise of one, of G_max: public, "thermal, about 5 nA" where full scale is 1 uA. Some
    // are averaged before one conversion (ours), by an ADC of so many bits (public: 8; 0: no ADC) from 0 to
    // adc_full_scale (ours).
    double read_sigma = 0.005;
    uint32_t reads = 4;
    uint32_t adc_bits = 8;
    double adc_full_scale = 1.1;

    // Cost of one read: public, a product takes 10 to 15 ns; the energy is ours.
    double read_ns = 15;
    double read_pj = 0.1;
};
// What suits a mode: kAsPublished has no guard.
IsppParameters ispp_defaults(IsppMode mode);
// std::invalid_argument, naming parameter, value and range.
void check(const IsppParameters& parameters);

enum class Outcome : uint8_t {
    kConverged,
    kFailed,     // tries used up; the conductance is where the last pulse left it
    kNotFormed,  // nothing was done
};

// Sums over cells: integers, so that they are the same in any order and may be added up.
struct IsppTotals {
    uint64_t converged_after[kMaxTries + 1];  // by number of tries
    uint64_t failed, not_formed;
    uint64_t stuck;  // of those that failed: cells that never move
    uint64_t set_pulses, reset_pulses, reads;
    int64_t error_sum;          // of converged cells: conductance less level, in G_max / 2^16, without the reads' noise
    uint64_t error_square_sum;  // of the same, squared
    uint64_t energy_aj;         // in the cells, V^2 t times the mean of G before and after the pulse; and the reads'
    uint64_t time_ps;           // one cell after another, as the public firmware does it: widths of pulses and reads

    void add(const IsppTotals& other);
    uint64_t converged() const;
    double mean_tries() const;   // of all cells that were formed; a failed one counts with all its pulses
    double error_sigma() const;  // of G_max, about zero, of converged cells
    double energy_pj() const { return static_cast<double>(energy_aj) * 1e-6; }
    double time_ns() const { return static_cast<double>(time_ps) * 1e-3; }
};

// Up to kIsppBlock cells of one crossbar. The arrays are the caller's, `count` long.
constexpr uint32_t kIsppBlock = 2048;
struct IsppBlock {
    uint32_t crossbar, first_cell, count;
    uint32_t program;        // how often this crossbar was programmed before
    const uint8_t* level;    // what is wanted
    const CellState* state;  // stuck cells are pulsed as others, and do not move
    uint16_t* g;             // in: what is there; out: what is there after the last pulse, before it relaxes
    uint8_t* tries;          // out: pulses
    Outcome* outcome;        // out
    IsppTotals* totals;      // added to
    uint32_t retry = 0;      // how often these cells were tried before, by this program: other noise, below kRetries
};
constexpr uint32_t kRetries = 64;

// Any number of cells of one crossbar, to be read as between two pulses.
struct IsppRead {
    uint32_t crossbar, first_cell, count;
    uint32_t number;    // of this read of the crossbar: another one, other noise
    const uint16_t* g;  // `count` long, as the next
    float* value;       // out: what the ADC gives, of G_max
};

struct IsppPlan;

// Programs blocks. Has no state of its own: between blocks the caller may do, or stop, what it likes; any number of
// threads may call program() at once, each with other cells and totals.
class Ispp {
   public:
    // std::invalid_argument: parameters out of range, or this CPU does not have these instructions.
    Ispp(const CellParameters& cells, const IsppParameters& parameters, uint64_t seed,
         InstructionSet set = best_instruction_set());
    ~Ispp();

    // std::invalid_argument: more than kIsppBlock cells.
    void program(const IsppBlock& block) const;

    void read(const IsppRead& cells) const;
    // Of reading cells that are read together, once: the time, and the energy of each.
    uint64_t read_ps() const;
    uint64_t read_aj() const;

   private:
    std::unique_ptr<const IsppPlan> plan_;
    void (*kernel_)(const IsppPlan& plan, const IsppBlock& block);
};

}  // namespace sidra::physics

#endif
