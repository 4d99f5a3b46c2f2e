// SPDX-License-Identifier: MIT
// The model of a memristor cell: its levels, the effect of pulses, the variation between cells and pulses, and aging.
//
// Conductances are in units of G_max. A cell is stored as 16 bits, in units of G_max / 2^15, and a CellState. Half a
// unit is 1.5e-5 of G_max, 650 times finer than the +/-1 % to which cells are programmed. The 419,430,400 cells of a
// chip take 0.8 GB, where floats would take 1.7 GB. The upper half of the range is for cells that relaxed above G_max.
//
// Every source of error is a parameter of its own, and zero disables it; with all of them disabled nothing is random.
// "Public" means published for the Y1 chip; "ours" is a decision of this model, where nothing is published.
//
// All functions are pure, or change only their arguments, and may be called from any thread.
#ifndef SIDRA_PHYSICS_CELLS_H
#define SIDRA_PHYSICS_CELLS_H

#include <array>
#include <cstdint>

#include "instruction_set.h"

namespace sidra::physics {

constexpr uint32_t kLevels = 256;          // public
constexpr float kConductanceOne = 32768;   // a stored conductance of G_max
constexpr uint32_t kRelaxationPoints = 9;  // at 0, 1/8, ... 1 of G_max
using Relaxation = std::array<double, kRelaxationPoints>;

// Measured at 1 s on the ReRAM of Wan et al., Nature 608 (2022), in aihwkit's fit: 4.39, 5.63, 5.04, 3.85 and 2.78 % of
// G_max (40 uS) at 1/8, 1/4, 1/2, 3/4 and 1. Linear in between; at 0 half of the first value (ours).
constexpr Relaxation kRelaxationReram2022 = {0.02195, 0.0439, 0.0563,  0.05335, 0.0504,
                                             0.04445, 0.0385, 0.03315, 0.0278};

struct CellParameters {
    // Range. Public are "5 % IR drop" and "1 to 10 uA of column current", which mean a G_max of 1 to 3 uS with the
    // public wires; 2 uS and the ratio are ours.
    double g_max_siemens = 2e-6;
    double on_off = 100;  // G_max / G_min

    // Pulses. A SET pulse of V volts and t ns adds dose * (1 - saturation * g), where
    //     dose = set_step * (t / set_ns) * exp((V - set_volts) / set_slope_volts),
    // and RESET takes dose * (1 - saturation * (1 - g)) away, with its own four; neither leaves G_min to G_max. The
    // form is ours: a soft bound, as in aihwkit's SoftBounds devices, times the exponential in the voltage of ionic
    // hopping. The first pulse and the RESET pulse are public: 1.5 V, 10 ns and -0.5 V, 5 ns. The steps are ours: six
    // pulses of the public ladder reach the middle of the range (public: "5 to 7 on average"), and a RESET pulse
    // empties the cell, since the public loop then begins again with its first pulse.
    double set_volts = 1.5, set_ns = 10, set_step = 0.03, set_slope_volts = 0.25;
    double reset_volts = 0.5, reset_ns = 5, reset_step = 2, reset_slope_volts = 0.05;
    double saturation = 0.5;

    // Steps are multiplied by exp(spread * normal), with a new normal for each pulse and a constant one for each cell.
    // Ours; the public loop was examined with 40 % from pulse to pulse.
    double cycle_spread = 0.4;
    double device_spread = 0.1;

    // Share of cells that forming leaves stuck at G_min or G_max. Ours; Li et al., Nature Electronics 1 (2018),
    // have 99.8 % of the cells of a 128 x 64 array respond.
    double stuck_low = 5e-4, stuck_high = 5e-4;
    // The conductance of the other cells after forming (public: once, at about 5 V), as mean and standard deviation in
    // units of G_max. Ours.
    double forming_level = 0.3, forming_spread = 0.1;

    // Standard deviation, in units of G_max, of the relaxation after the last pulse, by conductance. Ours: together
    // with the 0.4 % that the loop leaves, 0.8 % gives 0.9 %; "about 1 % after ISPP" is public.
    Relaxation relaxation = {0.008, 0.008, 0.008, 0.008, 0.008, 0.008, 0.008, 0.008, 0.008};

    // Share of conductance lost in a year: 1 % is public, and is assumed to hold at the public typical chip
    // temperature. Other temperatures follow Arrhenius; the activation energy is ours.
    double drift_per_year = 0.01;
    double drift_celsius = 60;
    double drift_activation_ev = 1.0;
};

// Throws std::invalid_argument that names parameter, value and range.
void check(const CellParameters& cells);

enum class CellState : uint8_t {
    kFresh,     // never formed: pulses do nothing
    kFormed,    // works
    kStuckLow,  // never moves
    kStuckHigh,
};

// ---- Levels; G in units of G_max ----

inline float lowest(const CellParameters& cells) { return static_cast<float>(1 / cells.on_off); }
// Linear from G_min (level 0) to G_max (level 255).
float conductance_of(const CellParameters& cells, uint8_t level);
// The nearest level.
uint8_t level_of(const CellParameters& cells, float g);
// Converts to the stored format and back. Values out of range are clamped. Never 0, because a cell always conducts.
uint16_t stored(float g);
inline float conductance(uint16_t stored_g) { return static_cast<float>(stored_g) * (1 / kConductanceOne); }
inline double siemens(const CellParameters& cells, uint16_t stored_g) {
    return cells.g_max_siemens * static_cast<double>(stored_g) / kConductanceOne;
}

// ---- Pulses ----

// Volts are positive for both.
float set_dose(const CellParameters& cells, double volts, double ns);
float reset_dose(const CellParameters& cells, double volts, double ns);
// The conductance after a pulse of that dose, with its spreads already applied. Never changes against the polarity.
float after_set(const CellParameters& cells, float g, float dose);
float after_reset(const CellParameters& cells, float g, float dose);
// The factor of this cell for every dose; 0 if it is stuck.
float device_factor(const CellParameters& cells, uint64_t seed, uint32_t crossbar, uint32_t cell, CellState state);

// ---- Forming, relaxation, drift ----

// A run of cells of one crossbar; the arrays are the caller's, `count` long.
struct CellRun {
    uint32_t crossbar, first_cell, count;
    uint16_t* g;
    CellState* state;
};
// Forms the cells that were not formed before.
void form(const CellParameters& cells, uint64_t seed, const CellRun& run);
// Applies the relaxation of formed cells after programming number `program`.
// std::invalid_argument: this CPU does not have these instructions.
void relax(const CellParameters& cells, uint64_t seed, uint32_t program, const CellRun& run,
           InstructionSet set = best_instruction_set());

// The speed of drift at a temperature, relative to drift_celsius.
float drift_speed(const CellParameters& cells, double celsius);
// The factor on conductances after a time at a temperature. It is a function of age, so the stored conductances do not
// change.
float drift_factor(const CellParameters& cells, double seconds, double celsius);

}  // namespace sidra::physics

#endif
