// SPDX-License-Identifier: MIT
#include "instruction_set.h"

#include <stdexcept>

namespace sidra::physics {

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

InstructionSet best_instruction_set() {
    for (const auto set : {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kNeon})
        if (has(set)) return set;
    return InstructionSet::kScalar;
}

void require(InstructionSet set) {
    if (!has(set)) throw std::invalid_argument("this CPU does not have these instructions");
}

}  // namespace sidra::physics
