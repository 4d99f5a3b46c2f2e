// SPDX-License-Identifier: MIT
// The solver for each instruction set; it may be called only if the CPU supports that set.
#ifndef SIDRA_PHYSICS_FINDERS_H
#define SIDRA_PHYSICS_FINDERS_H

#include "wires.h"

namespace sidra::physics {

std::unique_ptr<EffectiveConductance::Finder> make_scalar_finder();
std::unique_ptr<EffectiveConductance::Finder> make_avx2_finder();
std::unique_ptr<EffectiveConductance::Finder> make_avx512_finder();
std::unique_ptr<EffectiveConductance::Finder> make_neon_finder();

}  // namespace sidra::physics

#endif
