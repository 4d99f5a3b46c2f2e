// SPDX-License-Identifier: MIT
// Measures the offset of an ADC while no input is driven, so that only the offset remains.
#ifndef SIDRA_PHYSICS_OFFSET_H
#define SIDRA_PHYSICS_OFFSET_H

#include <cstdint>

#include "readout.h"

namespace sidra::physics {

// Identifies the reads. No two reads of a crossbar have the same number, which selects the noise.
struct OffsetReads {
    uint64_t seed;
    uint32_t crossbar;
    uint32_t first, count;
};

// The rounded mean of the codes that an ADC with an adaptive range (readout.h) returns for this offset, in units of
// (input * weight). An offset beyond the widest range is clipped.
int32_t read_offset(const ReadoutParameters& parameters, const OffsetReads& reads, double arrives);

}  // namespace sidra::physics

#endif
