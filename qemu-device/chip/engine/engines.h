// SPDX-License-Identifier: MIT
// The engines in this build; private to engine/. find() checks which of them this CPU supports.
#ifndef SIDRA_CHIP_ENGINES_H
#define SIDRA_CHIP_ENGINES_H

#include "engine.h"

namespace sidra::engine {

extern const Engine kScalarEngine;
#if defined(__x86_64__)
extern const Engine kAvx2Engine;
extern const Engine kAvx512Engine;
extern const Engine kAmxEngine;  // AVX-512, and products by tiles
#elif defined(__aarch64__)
extern const Engine kNeonEngine;     // any ARMv8
extern const Engine kNeonDotEngine;  // with the dot product instructions
#endif

}  // namespace sidra::engine

#endif
