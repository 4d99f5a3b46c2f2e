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

std::string rounded(const sidra_smi_value& value, int digits, const char* unit) {
    double number = 0;
    return sidra_smi_number_of(&value, &number) ? fmt::format("{:.{}f}{}", number, digits, unit) : "-";
}

}  // namespace sidra::smi_tool
