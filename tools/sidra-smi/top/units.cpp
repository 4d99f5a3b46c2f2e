// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sidra::top {

std::string scaled(std::optional<double> value, std::string_view unit) {
    if (!value || !std::isfinite(*value)) return "-";
    constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    double figure = *value;
    size_t prefix = 0;
    // 999.5 would become "1000" when it is rounded to three digits.
    while (std::abs(figure) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
        figure /= 1000;
        ++prefix;
    }
    const double size = std::abs(figure);
    const bool whole = prefix == 0 && figure == std::floor(figure);
    const int digits = whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}{}", figure, digits, kPrefixes[prefix], unit);
}

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
