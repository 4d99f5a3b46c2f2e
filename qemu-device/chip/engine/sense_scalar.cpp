// SPDX-License-Identifier: MIT
// One column after the other. sense.inc gives the same bits, so the order of arithmetic is the same here and there.
#include <algorithm>

#include "math_scalar.h"
#include "random.h"
#include "sense_exact.inc"

namespace sidra::engine {
namespace {

using namespace physics;  // lanes and random numbers

void sense(const SensePlan& plan, uint64_t nth, const int32_t* high, const int32_t* low, const int32_t* variance,
           uint32_t input_sum, int32_t* out, uint64_t* clipped) {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, ties to even
    const float inputs = static_cast<float>(input_sum), before = plan.before * inputs, after = plan.after * inputs;
    const uint32_t quarter = plan.outputs / 4;
    for (uint32_t group = 0; group < quarter; group++) {
        float normal[4] = {};
        if (plan.noisy) {
            // Four normal numbers for four columns that are a quarter of the outputs apart, so that vectors of columns
            // are contiguous.
            const Words w = words({plan.seed, Domain::kReadout, plan.crossbar, group, static_cast<uint32_t>(nth),
                                   static_cast<uint32_t>(nth >> 32)});
            for (int i = 0; i < 2; i++)
                normal_pair<float, int32_t>(static_cast<int32_t>(w[2 * i]), static_cast<int32_t>(w[2 * i + 1]),
                                            &normal[2 * i], &normal[2 * i + 1]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t c = i * quarter + group;
            float value = (to_float(high[c]) * 256.0f + to_float(low[c])) * plan.unit + before;
            if (plan.noisy) {
                const float deviation = root(to_float(variance[c]) * plan.variance_unit + plan.adc_variance);
                value = value + deviation * normal[i];
            }
            if (plan.step != 0) {
                const float code = (value - plan.origin) * plan.inverse;
                const float cut = std::max(plan.lowest_code, std::min(code, plan.highest_code));
                const float whole = cut + kRound - kRound;
                *clipped += code > plan.highest_code + 0.5f || code < plan.lowest_code - 0.5f;
                value = whole * plan.step + plan.origin;
            }
            value = value - after;
            out[c] = static_cast<int32_t>(value + (value < 0 ? -0.5f : 0.5f));
        }
    }
}

}  // namespace

constinit const SenseKernels kSenseScalar = {sense, peak, drive};

}  // namespace sidra::engine
