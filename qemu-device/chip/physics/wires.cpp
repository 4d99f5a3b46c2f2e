// SPDX-License-Identifier: MIT
#include "wires.h"

#include <stdexcept>

#include "finders.h"

namespace sidra::physics {

namespace {

bool has(InstructionSet set) {
    switch (set) {
        case InstructionSet::kScalar:
            return true;
#if defined(__x86_64__)
        case InstructionSet::kAvx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case InstructionSet::kAvx512:
            return __builtin_cpu_supports("avx512f") != 0;
#elif defined(__aarch64__)
        case InstructionSet::kNeon:
            return true;
#endif
        default:
            return false;
    }
}

InstructionSet best() {
    for (const auto set : {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kNeon})
        if (has(set)) return set;
    return InstructionSet::kScalar;
}

std::unique_ptr<EffectiveConductance::Finder> make(InstructionSet set) {
    if (!has(set)) throw std::invalid_argument("this CPU does not have these instructions");
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

EffectiveConductance::EffectiveConductance() : EffectiveConductance(best()) {}
EffectiveConductance::EffectiveConductance(InstructionSet set) : finder_(make(set)) {}

}  // namespace sidra::physics
