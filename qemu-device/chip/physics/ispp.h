// SPDX-License-Identifier: MIT
// ISPP: cells are programmed by pulses, with a read after each, until they read the wanted level or the tries are used
// up.
//
// Units are those of cells.h. Random numbers are keyed by (seed, crossbar, cell, program, pulse): results have the same
// bits for any division into blocks, number of threads and instruction set.
//
// "Public" means published for the Y1 chip; "ours" is a decision of this model, where nothing is published.
#ifndef SIDRA_PHYSICS_ISPP_H
#define SIDRA_PHYSICS_ISPP_H

#include <cstdint>
#include <memory>

#include "cells.h"
#include "instruction_set.h"

namespace sidra::physics {

enum class IsppMode : uint8_t {
    // Public: if the read is too low, a SET pulse of the ladder's next rung; if too high, a RESET pulse, and then the
    // first rung again.
    kAsPublished,
    // The same with a RESET pulse that takes away only `back_step`. Ours.
    kStepBack,
    // Each pulse, of either polarity, is as wide as the last read error requires. Ours, and the default: with the
    // public
    // loop most cells do not converge within its tries (32 % do, by tests/physics/ispp_reference.py; here 100 %).
    kErrorSized,
};

constexpr uint32_t kMaxTries = 64;

struct IsppParameters {
    IsppMode mode = IsppMode::kErrorSized;

    // A cell has converged if the read differs from its level by less than tolerance - guard, in units of G_max.
    // Public:
    // "+/-1 %", without saying of what; "strictly below"; "typically 15".
    double tolerance = 0.01;
    // Subtracted from the tolerance, because reads have errors: 0.4 % is half a step of the ADC (0.22 %) plus 0.7
    // standard deviations of the averaged noise (0.25 %), so that 99.4 % of cells are truly within 1 %. Ours; the
    // public loop has none.
    double guard = 0.004;
    uint32_t max_tries = 15;  // pulses; with 0 the cells are only read

    // The ladder of SET pulses begins at set_volts and set_ns of the cells, with these steps (public), up to these caps
    // (ours; not reached in 15 tries). Widths are truncated to whole ns (public: "integer arithmetic").
    double step_volts = 0.05;
    double width_growth = 1.2;
    double max_volts = 2.5;
    double max_width_ns = 200;

    // Small RESET pulses use a lower voltage than the public pulse, with which they would be too short. Ours.
    double fine_reset_volts = 0.3;
    double back_step = 0.03;  // kStepBack: dose of the RESET pulse
    // kErrorSized: the share of the error that a pulse corrects. It is just below 1, because the mean of a log-normal
    // step is above its median. Widths are multiples of width_step_ns. Ours.
    double gain = 0.9;
    double width_step_ns = 0.1;

    // Reads between pulses. The noise of one read in units of G_max is public: "thermal, about 5 nA" at a full scale of
    // 1 uA. Several reads are averaged before one conversion (ours) by an ADC with this many bits (public: 8; 0: no
    // ADC) from 0 to adc_full_scale (ours).
    double read_sigma = 0.005;
    uint32_t reads = 4;
    uint32_t adc_bits = 8;
    double adc_full_scale = 1.1;

    // Cost of one read. A product takes 10 to 15 ns (public); the energy is ours.
    double read_ns = 15;
    double read_pj = 0.1;
};
// The default parameters of a mode: kAsPublished has no guard.
IsppParameters ispp_defaults(IsppMode mode);
// Throws std::invalid_argument that names parameter, value and range.
void check(const IsppParameters& parameters);

enum class Outcome : uint8_t {
    kConverged,
    kFailed,     // tries used up; the cell keeps the conductance of its last pulse
    kNotFormed,  // nothing was done
};

// Sums over cells, as integers: they do not depend on the order, and may be added up.
struct IsppTotals {
    uint64_t converged_after[kMaxTries + 1];  // by number of tries
    uint64_t failed, not_formed;
    uint64_t stuck;  // failed cells that are stuck
    uint64_t set_pulses, reset_pulses, reads;
    int64_t error_sum;          // of converged cells: conductance minus level, in G_max / 2^16, without read noise
    uint64_t error_square_sum;  // sum of its squares
    uint64_t energy_aj;         // V^2 t times the mean of G before and after a pulse, plus the reads
    uint64_t time_ps;           // widths of pulses and reads, one cell after another as in the public firmware

    void add(const IsppTotals& other);
    uint64_t converged() const;
    double mean_tries() const;   // over all formed cells; a failed cell counts with all its pulses
    double error_sigma() const;  // root mean square error of converged cells, in units of G_max
    double energy_pj() const { return static_cast<double>(energy_aj) * 1e-6; }
    double time_ns() const { return static_cast<double>(time_ps) * 1e-3; }
};

// Up to kIsppBlock cells of one crossbar. The arrays are the caller's, `count` long.
constexpr uint32_t kIsppBlock = 2048;
struct IsppBlock {
    uint32_t crossbar, first_cell, count;
    uint32_t program;        // how often this crossbar was programmed before
    const uint8_t* level;    // the levels to program
    const CellState* state;  // stuck cells are pulsed like others, without effect
    uint16_t* g;             // in: conductance; out: conductance after the last pulse, before relaxation
    uint8_t* tries;          // out: number of pulses
    Outcome* outcome;        // out
    IsppTotals* totals;      // added to
    uint32_t retry = 0;      // earlier tries by this program, below kRetries; selects other noise
};
constexpr uint32_t kRetries = 64;

// A read of any number of cells of one crossbar, like those between pulses.
struct IsppRead {
    uint32_t crossbar, first_cell, count;
    uint32_t number;    // number of this read of the crossbar; selects the noise
    const uint16_t* g;  // `count` long, as the next
    float* value;       // out: the ADC's value, in units of G_max
};

struct IsppPlan;

// Programs blocks. It has no state of its own, so the caller may interrupt the work between blocks. Several threads may
// call program() at once, with different cells and totals.
class Ispp {
   public:
    // Throws std::invalid_argument if parameters are out of range or this CPU lacks the instruction set.
    Ispp(const CellParameters& cells, const IsppParameters& parameters, uint64_t seed,
         InstructionSet set = best_instruction_set());
    ~Ispp();

    // Throws std::invalid_argument for more than kIsppBlock cells.
    void program(const IsppBlock& block) const;

    void read(const IsppRead& cells) const;
    // The time of reading a group of cells once, and the energy of each.
    uint64_t read_ps() const;
    uint64_t read_aj() const;

   private:
    std::unique_ptr<const IsppPlan> plan_;
    void (*kernel_)(const IsppPlan& plan, const IsppBlock& block);
};

}  // namespace sidra::physics

#endif
