// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>

namespace sidra::smi_tool {

std::string bytes_text(uint64_t bytes) {
    constexpr const char* kUnits[] = {"B", "K", "M", "G", "T", "P", "E"};
    double number = static_cast<double>(bytes);
    int unit = 0;
    for (; number >= 1000 && unit < 6; ++unit) number /= 1024;
    return fmt::format("{:.{}f}{}", number, number < 9.95 && unit > 0 ? 1 : 0, kUnits[unit]);
}

std::string seconds_text(uint64_t ns) { return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9); }

double number_of(const sidra_smi_value& value) {
    switch (value.type) {
        case SIDRA_SMI_UINT:
            return static_cast<double>(value.u);
        case SIDRA_SMI_INT:
            return static_cast<double>(value.i);
        case SIDRA_SMI_REAL:
            return value.real;
        default:
            return 0;
    }
}

std::string rounded(const sidra_smi_value& value, int digits, const char* unit) {
    if (value.type == SIDRA_SMI_NONE) return "-";
    return fmt::format("{:.{}f}{}", number_of(value), digits, unit);
}

}  // namespace sidra::smi_tool
