// SPDX-License-Identifier: MIT
#include "offset.h"

#include <algorithm>
#include <cmath>

#include "random.h"

namespace sidra::physics {
namespace {

// Half of the widest range without the margin, for a tile of pairs with the largest possible weights, and half of the
// finest range.
constexpr double kWidest = 127.0 * 255 * Readout::kRows, kFinest = 1;

}  // namespace

int32_t read_offset(const ReadoutParameters& parameters, const OffsetReads& reads, double arrives) {
    const double needed = std::max(std::fabs(arrives), kFinest) * parameters.adc_margin;
    double half = kWidest * parameters.adc_margin;
    while (half / 2 >= needed) half /= 2;
    const double most = std::ldexp(1, static_cast<int>(parameters.adc_bits) - 1) - 1;
    const double step = half / most, noise = parameters.adc_noise * half;
    double sum = 0;
    for (uint32_t i = 0; i < reads.count; i++) {
        const Words random = words({reads.seed, Domain::kOffset, reads.crossbar, 0, reads.first + i, 0});
        const double value = arrives + noise * static_cast<double>(normals(random[0], random[1])[0]);
        const double cut = std::clamp(value, -half, half);
        sum += parameters.adc_bits == 0 ? cut : std::clamp(std::nearbyint(cut / step), -most, most) * step;
    }
    return static_cast<int32_t>(std::lround(sum / reads.count));
}

}  // namespace sidra::physics
