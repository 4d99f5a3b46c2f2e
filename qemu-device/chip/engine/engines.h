// SPDX-License-Identifier: MIT
// The engines that this build has; private to engine/. Which of them this CPU can run is find()'s business.
#ifndef SIDRA_CHIP_ENGINES_H
#define SIDRA_CHIP_ENGINES_H

#include "engine.h"

namespace sidra::engine {

extern const Engine kScalarEngine;
#if defined(__x86_64__)
extern const Engine kAvx2Engine;
extern const Engine kAvx512Engine;
#elif defined(__aarch64__)
extern const Engine kNeonEngine;     // any ARMv8
extern const Engine kNeonDotEngine;  // the same with the dot product instructions
#endif

}  // namespace sidra::engine

#endif
