// SPDX-License-Identifier: MIT
// One cell after the other. relax.inc gives the same bits, so the order of arithmetic is the same here and there.
#include <algorithm>

#include "math_scalar.h"
#include "random.h"
#include "relax_plan.h"

namespace sidra::physics {

void relax_scalar(const RelaxPlan& plan, const CellRun& run) {
    for (uint32_t i = 0; i < run.count; i++) {
        if (run.state[i] != CellState::kFormed) continue;
        const Words w = words({plan.seed, Domain::kRelaxation, run.crossbar, run.first_cell + i, plan.program, 0});
        float normal = 0, other = 0;
        normal_pair<float, int32_t>(static_cast<int32_t>(w[0]), static_cast<int32_t>(w[1]), &normal, &other);
        const float g = conductance(run.g[i]);
        const float at = std::min(g, 1.0f) * (kRelaxationPoints - 1);
        const uint32_t below = std::min(static_cast<uint32_t>(at), kRelaxationPoints - 2);
        const float a = plan.sigma[below], b = plan.sigma[below + 1];
        const float sigma = a + (b - a) * (at - static_cast<float>(below));
        run.g[i] = stored(g + sigma * normal);
    }
}

}  // namespace sidra::physics
