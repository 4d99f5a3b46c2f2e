// SPDX-License-Identifier: MIT
// Level `accurate`: how inputs are driven, and the conversion of a product's sums to codes (physics/readout.h). Plain
// data, because a member function compiled for one instruction set must not be linked for all.
#ifndef SIDRA_CHIP_ENGINE_SENSE_H
#define SIDRA_CHIP_ENGINE_SENSE_H

#include <cstdint>

#include "sidra_hw.h"

namespace sidra::engine {

struct SensePlan {
    uint64_t seed;
    uint32_t crossbar;
    uint32_t outputs;  // a multiple of 64
    bool noisy;
    float unit;                   // value of 1 in the sums over conductances, in (input * weight)
    float variance_unit;          // value of 1 in the sums over variances, in its square
    float adc_variance;           // variance of the ADC's own noise, in the same unit
    float before, after;          // added before the ADC and subtracted after it, per unit of the sum of inputs
    float step, inverse, origin;  // of the ADC, in (input * weight); step 0: no ADC; origin: the value of code 0
    float lowest_code, highest_code;
};

struct SenseKernels {
    // Product number `nth`, one vector: `outputs` sums in, as many out; adds to *clipped.
    void (*sense)(const SensePlan& plan, uint64_t nth, const int32_t* high, const int32_t* low, const int32_t* variance,
                  uint32_t input_sum, int32_t* out, uint64_t* clipped);
    // The largest magnitude of the sums, in units of 256, rounded down.
    int32_t (*peak)(const int32_t* high, const int32_t* low, uint32_t outputs);
    // Converts SIDRA_XBAR_ROWS inputs by a DAC that lacks `cut` bits, with rounding, and stores the upper bytes of
    // their squares. Returns the sum of the converted inputs.
    uint32_t (*drive)(const uint8_t* in, uint32_t cut, uint8_t* driven, uint8_t* squares);
};
extern const SenseKernels kSenseScalar, kSenseAvx2, kSenseAvx512, kSenseNeon;

}  // namespace sidra::engine

#endif
