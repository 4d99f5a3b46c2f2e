// SPDX-License-Identifier: MIT
// The solvers for each instruction set; each may be called only where the CPU has it.
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
