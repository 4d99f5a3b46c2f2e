// SPDX-License-Identifier: MIT
// Relaxation for each instruction set; a function may be called only if the CPU supports that set. See ispp_plan.h.
#ifndef SIDRA_PHYSICS_RELAX_PLAN_H
#define SIDRA_PHYSICS_RELAX_PLAN_H

#include "cells.h"

namespace sidra::physics {

struct RelaxPlan {
    uint64_t seed;
    uint32_t program;
    float sigma[kRelaxationPoints];
};

void relax_scalar(const RelaxPlan& plan, const CellRun& run);
void relax_avx2(const RelaxPlan& plan, const CellRun& run);
void relax_avx512(const RelaxPlan& plan, const CellRun& run);
void relax_neon(const RelaxPlan& plan, const CellRun& run);

}  // namespace sidra::physics

#endif
