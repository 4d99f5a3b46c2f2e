// SPDX-License-Identifier: MIT
#include "wires.h"

#include "finders.h"

namespace sidra::physics {

namespace {

std::unique_ptr<EffectiveConductance::Finder> make(InstructionSet set) {
    require(set);
    switch (set) {
#if defined(__x86_64__)
        case InstructionSet::kAvx2:
            return make_avx2_finder();
        case InstructionSet::kAvx512:
            return make_avx512_finder();
#elif defined(__aarch64__)
        case InstructionSet::kNeon:
            return make_neon_finder();
#endif
        default:
            return make_scalar_finder();
    }
}

}  // namespace

EffectiveConductance::EffectiveConductance() : EffectiveConductance(best_instruction_set()) {}
EffectiveConductance::EffectiveConductance(InstructionSet set) : finder_(make(set)) {}

}  // namespace sidra::physics
