// SPDX-License-Identifier: MIT
// What a chip is, as its registers say it.
#ifndef SIDRA_CHIP_IDENTITY_H
#define SIDRA_CHIP_IDENTITY_H

#include <array>
#include <cstdint>

#include "geometry.h"

namespace sidra::chip {

struct Identity {
    using Uuid = std::array<uint8_t, 16>;

    const Geometry geometry;
    Uuid uuid;          // changes only before anything else, and when a chip is loaded
    uint64_t features;  // SIDRA_FEATURE_*; changes only before anything else
};

// Spreads the seed.
Identity::Uuid uuid_of(uint64_t seed);

}  // namespace sidra::chip

#endif
