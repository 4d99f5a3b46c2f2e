// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>

#include <cmath>

namespace sidra::top {

std::string fixed(std::optional<double> value, int digits, std::string_view unit) {
    if (!value || !std::isfinite(*value)) return "-";
    return fmt::format("{:.{}f} {}", *value, digits, unit);
}

double round_up(double value) {
    if (!(value > 1)) return 1;
    double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= value) return step * power;
    return 10 * power;
}

}  // namespace sidra::top
