// SPDX-License-Identifier: MIT
// The input of the loops for all instruction sets: parameters as single-precision constants, computed once. It is plain
// data, because a member function compiled for one instruction set must not be linked for all.
#ifndef SIDRA_PHYSICS_ISPP_PLAN_H
#define SIDRA_PHYSICS_ISPP_PLAN_H

#include "ispp.h"

namespace sidra::physics {

struct IsppPlan {
    uint64_t seed;
    bool sized;  // kErrorSized; otherwise by the ladder
    uint32_t max_tries;
    float target[kLevels];      // of G_max
    int32_t target16[kLevels];  // the same in G_max / 2^16, rounded

    // Cell
    float lowest, saturation, cycle_spread, device_spread;

    // Read: noise of the average, step of the ADC and 1 / step, largest code; step 0: no ADC
    float read_sigma, adc_step, adc_inverse, adc_top;
    float accept;  // tolerance minus guard
    uint64_t read_aj, read_ps;

    // Ladder: dose, V^2 ns and ps of each rung, and of the step back
    float rung_dose[kMaxTries], rung_v2ns[kMaxTries];
    int32_t rung_ps[kMaxTries], last_rung;
    float back_dose, back_v2ns;
    int32_t back_ps;

    // Sized: ns for a dose of 1 in an empty cell times gain, dose of one ns, V^2; width's step and 1 / step, largest
    float set_ns_per_dose, set_dose_per_ns, set_v2;
    float reset_ns_per_dose, reset_dose_per_ns, reset_v2;
    float width_step, width_inverse, max_width;

    // aJ of one V^2 ns and (G before + G after) in G_max
    float aj_per_v2ns;
};

// Draws of one try of a program, each for two pulses.
constexpr uint32_t kDrawsOfTry = kMaxTries / 2 + 1;
static_assert(kRetries * kDrawsOfTry < 1u << 16);

void program_scalar(const IsppPlan& plan, const IsppBlock& block);
void program_avx2(const IsppPlan& plan, const IsppBlock& block);
void program_avx512(const IsppPlan& plan, const IsppBlock& block);
void program_neon(const IsppPlan& plan, const IsppBlock& block);
void read_scalar(const IsppPlan& plan, const IsppRead& cells);

// 1.5 * 2^23: adding and subtracting this rounds a float below 2^22 to the nearest integer, ties to even.
constexpr float kRoundToInteger = 12582912.0f;
// Largest energy of one pulse in aJ, limited by a 32-bit integer.
constexpr float kMostAttojoules = 2147483520.0f;

}  // namespace sidra::physics

#endif
