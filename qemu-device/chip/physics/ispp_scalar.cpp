// SPDX-License-Identifier: MIT
// The readable form of the loop, one cell after the other. The vector forms (ispp.inc) give the same bits, so the order
// of arithmetic is the same here and there.
#include <algorithm>
#include <cmath>

#include "ispp_plan.h"
#include "math_scalar.h"
#include "random.h"

namespace sidra::physics {

namespace {

struct Normals {
    float read, spread;
};
Normals normals_of(uint32_t first, uint32_t second) {
    Normals result{};
    normal_pair<float, int32_t>(static_cast<int32_t>(first), static_cast<int32_t>(second), &result.read,
                                &result.spread);
    return result;
}

float read(const IsppPlan& plan, float g, float noise) {
    const float value = g + plan.read_sigma * noise;
    if (plan.adc_step == 0) return value;
    const float code = std::max(0.0f, std::min(value * plan.adc_inverse, plan.adc_top));
    return (code + kRoundToInteger - kRoundToInteger) * plan.adc_step;
}

struct Pulse {
    float dose, v2ns;
    int32_t ps;
};

Pulse sized(const IsppPlan& plan, float value, float error) {
    const bool up = error > 0;
    const float full = std::max(0.0f, std::min(value, 1.0f));
    const float window = 1 - plan.saturation * (up ? full : 1 - full);
    const float ideal = std::fabs(error) * (up ? plan.set_ns_per_dose : plan.reset_ns_per_dose) / window;
    const float steps = std::min(ideal, plan.max_width) * plan.width_inverse;
    const float width = std::max(1.0f, steps + kRoundToInteger - kRoundToInteger) * plan.width_step;
    const float ps = width * 1000 + 0.5f;
    return {width * (up ? plan.set_dose_per_ns : plan.reset_dose_per_ns), width * (up ? plan.set_v2 : plan.reset_v2),
            static_cast<int32_t>(ps)};
}

}  // namespace

void program_scalar(const IsppPlan& plan, const IsppBlock& block) {
    IsppTotals& totals = *block.totals;
    for (uint32_t i = 0; i < block.count; i++) {
        block.tries[i] = 0;
        if (block.state[i] == CellState::kFresh) {
            block.outcome[i] = Outcome::kNotFormed;
            totals.not_formed++;
            continue;
        }
        const uint32_t cell = block.first_cell + i;
        float factor = 0;
        if (block.state[i] == CellState::kFormed) {
            const Words w = words({plan.seed, Domain::kDevice, block.crossbar, cell, 0, 0});
            factor = exponential<float, int32_t>(normals_of(w[0], w[1]).read * plan.device_spread);
        }
        float g = conductance(block.g[i]);
        const float target = plan.target[block.level[i]];
        int32_t rung = 0;
        Words w{};
        for (uint32_t pulses = 0;; pulses++) {
            if (pulses % 2 == 0)
                w = words({plan.seed, Domain::kPulse, block.crossbar, cell, block.program,
                           block.retry * kDrawsOfTry + pulses / 2});
            const Normals normal = pulses % 2 == 0 ? normals_of(w[0], w[1]) : normals_of(w[2], w[3]);
            const float value = read(plan, g, normal.read);
            const float error = target - value;
            totals.reads++;
            totals.energy_aj += plan.read_aj;
            totals.time_ps += plan.read_ps;
            const bool converged = std::fabs(error) < plan.accept;
            if (converged || pulses == plan.max_tries) {
                block.g[i] = stored(g);
                block.tries[i] = static_cast<uint8_t>(pulses);
                block.outcome[i] = converged ? Outcome::kConverged : Outcome::kFailed;
                if (converged) {
                    const int64_t off = 2 * int64_t{block.g[i]} - plan.target16[block.level[i]];
                    totals.error_sum += off;
                    totals.error_square_sum += static_cast<uint64_t>(off * off);
                    totals.converged_after[pulses]++;
                } else {
                    totals.failed++;
                    totals.stuck += block.state[i] != CellState::kFormed;
                }
                break;
            }
            const bool up = error > 0;
            Pulse pulse{};
            if (plan.sized) {
                pulse = sized(plan, value, error);
            } else if (up) {
                pulse = {plan.rung_dose[rung], plan.rung_v2ns[rung], plan.rung_ps[rung]};
                rung = std::min(rung + 1, plan.last_rung);
            } else {
                pulse = {plan.back_dose, plan.back_v2ns, plan.back_ps};
                rung = 0;
            }
            const float spread = exponential<float, int32_t>(normal.spread * plan.cycle_spread);
            const float full = std::min(g, 1.0f);
            const float window = 1 - plan.saturation * (up ? full : 1 - full);
            const float step = pulse.dose * factor * spread * window;
            const float after =
                up ? std::max(g, std::min(g + step, 1.0f)) : std::min(g, std::max(g - step, plan.lowest));
            (up ? totals.set_pulses : totals.reset_pulses)++;
            totals.energy_aj += static_cast<uint64_t>(
                static_cast<int32_t>(std::min(pulse.v2ns * (g + after) * plan.aj_per_v2ns, kMostAttojoules)));
            totals.time_ps += static_cast<uint64_t>(pulse.ps);
            g = after;
        }
    }
}

void read_scalar(const IsppPlan& plan, const IsppRead& cells) {
    for (uint32_t i = 0; i < cells.count; i++) {
        const Words w = words({plan.seed, Domain::kVerify, cells.crossbar, cells.first_cell + i, cells.number, 0});
        cells.value[i] = read(plan, conductance(cells.g[i]), normals_of(w[0], w[1]).read);
    }
}

}  // namespace sidra::physics
