// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/units.h"
#include "report.h"

namespace sidra::smi_tool {

std::string seconds_text(uint64_t ns) { return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9); }

std::string rounded(const sidra_smi_value& value, int digits, const char* unit) {
    double number = 0;
    return sidra_smi_number_of(&value, &number) ? fmt::format("{:.{}f}{}", number, digits, unit) : "-";
}

namespace {

// Units of values, and the units that replace them for people.
struct Scale {
    std::string_view unit, base;
    int thousands;
};
constexpr Scale kScales[] = {{"1/s", "/s", 0}, {"B/s", "B/s", 0}, {"ns", "s", -3}, {"ps", "s", -4}, {"pJ", "J", -4}};

const Scale* scale_of(std::string_view unit) {
    const auto* const found = std::ranges::find(kScales, unit, &Scale::unit);
    return found != std::end(kScales) ? found : nullptr;
}

// Four digits are enough for people; "{:.4g}" would print 12000 as 1.2e+04.
std::string short_text(double value) {
    return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace

bool has_prefixes(std::string_view unit) { return unit == "B" || scale_of(unit) != nullptr; }

std::string readable(const sidra_smi_field& field, const sidra_smi_value& value) {
    const std::string_view unit = field.unit;
    double number = 0;
    if (value.type == SIDRA_SMI_UINT && unit == "B") return tools::bytes_text(value.u);
    if (const Scale* const scale = scale_of(unit); scale != nullptr && sidra_smi_number_of(&value, &number))
        return tools::scaled(number, scale->base, scale->thousands);
    const std::string text = value.type == SIDRA_SMI_REAL ? short_text(value.real) : to_text(value);
    return value.type == SIDRA_SMI_NONE || unit.empty() ? text : fmt::format("{} {}", text, unit);
}

}  // namespace sidra::smi_tool
