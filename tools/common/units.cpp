// SPDX-License-Identifier: MIT
#include "common/units.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sidra::tools {

std::string bytes_text(std::optional<uint64_t> bytes) {
    if (!bytes) return "-";
    constexpr const char* kUnits[] = {"B", "K", "M", "G", "T", "P", "E"};
    double number = static_cast<double>(*bytes);
    int unit = 0;
    // 999.5 would round to 1000.
    for (; number >= 999.5; ++unit) number /= 1024;
    return fmt::format("{:.{}f}{}", number, number < 9.95 && unit > 0 ? 1 : 0, kUnits[unit]);
}

std::string scaled(std::optional<double> value, std::string_view unit, int thousands) {
    if (!value || !std::isfinite(*value)) return "-";
    constexpr std::string_view kPrefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    constexpr int kNone = 4;
    const auto* const first = std::begin(kPrefixes) + kNone + thousands;
    const auto* prefix = first;
    double figure = *value;
    // 999.5 would round to "1000" with three digits.
    while (std::abs(figure) >= 999.5 && prefix + 1 < std::end(kPrefixes)) {
        figure /= 1000;
        ++prefix;
    }
    const double size = std::abs(figure);
    const bool whole = prefix == first && figure == std::floor(figure);
    const int digits = whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}{}", figure, digits, *prefix, unit);
}

}  // namespace sidra::tools
