// SPDX-License-Identifier: MIT
#include <algorithm>

#include "cells.h"
#include "relax_plan.h"

namespace sidra::physics {

void relax(const CellParameters& cells, uint64_t seed, uint32_t program, const CellRun& run, InstructionSet set) {
    require(set);
    const auto& sigma = cells.relaxation;
    if (std::all_of(sigma.begin(), sigma.end(), [](double each) { return each == 0; })) return;
    RelaxPlan plan{seed, program, {}};
    std::transform(sigma.begin(), sigma.end(), plan.sigma, [](double each) { return static_cast<float>(each); });
    switch (set) {
#if defined(__x86_64__)
        case InstructionSet::kAvx2:
            return relax_avx2(plan, run);
        case InstructionSet::kAvx512:
            return relax_avx512(plan, run);
#elif defined(__aarch64__)
        case InstructionSet::kNeon:
            return relax_neon(plan, run);
#endif
        default:
            return relax_scalar(plan, run);
    }
}

}  // namespace sidra::physics
