// SPDX-License-Identifier: MIT
// What lies between the sums of a product and its codes, for each instruction set; each may be called only where the
// CPU has it. As ispp_plan.h.
#ifndef SIDRA_PHYSICS_SENSE_PLAN_H
#define SIDRA_PHYSICS_SENSE_PLAN_H

#include <cstdint>

#include "sidra_hw.h"

namespace sidra::physics {

struct SensePlan {
    uint64_t seed;
    uint32_t crossbar;
    uint32_t outputs;  // a multiple of 64
    bool noisy;
    float unit;                   // (input * weight) of one in the sums over conductances
    float variance_unit;          // its square, of one in the sums over variances
    float adc_variance;           // the same, of the ADC's own noise
    float before, after;          // what each unit of all inputs together adds at the ADC, and is taken off behind it
    float step, inverse, origin;  // of the ADC, in (input * weight); step 0: no ADC; origin: what code 0 means
    float lowest_code, highest_code;
};

struct SenseFunctions {
    // Product number `nth`, one vector: `outputs` sums in, as many out; adds to *clipped.
    void (*sense)(const SensePlan& plan, uint64_t nth, const int32_t* high, const int32_t* low, const int32_t* variance,
                  uint32_t input_sum, int32_t* out, uint64_t* clipped);
    // The largest of the sums, whatever its sign, in 256 of their units; rounded down.
    int32_t (*peak)(const int32_t* high, const int32_t* low, uint32_t outputs);
    // SIDRA_XBAR_ROWS inputs as a DAC gives them that has lost `cut` bits, rounded, and the upper bytes of their
    // squares; the sum of the former.
    uint32_t (*drive)(const uint8_t* in, uint32_t cut, uint8_t* driven, uint8_t* squares);
};
extern const SenseFunctions kSenseScalar, kSenseAvx2, kSenseAvx512, kSenseNeon;

}  // namespace sidra::physics

#endif
