// SPDX-License-Identifier: MIT
// What an ADC is off by, as can be found out while no input is driven: nothing arrives then but that.
#ifndef SIDRA_PHYSICS_OFFSET_H
#define SIDRA_PHYSICS_OFFSET_H

#include <cstdint>

#include "readout.h"

namespace sidra::physics {

// Of which reads. No two of a crossbar have the same number; noise is keyed by that, and by nothing else.
struct OffsetReads {
    uint64_t seed;
    uint32_t crossbar;
    uint32_t first, count;
};

// The mean of what an ADC that follows what arrives (readout.h) makes of so much, in units of (input * weight),
// rounded. What is out of its widest range is cut to it.
int32_t read_offset(const ReadoutParameters& parameters, const OffsetReads& reads, double arrives);

}  // namespace sidra::physics

#endif
