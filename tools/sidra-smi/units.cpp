// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>

namespace sidra::smi_tool {

std::string seconds_text(uint64_t ns) { return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9); }

std::string rounded(const sidra_smi_value& value, int digits, const char* unit) {
    double number = 0;
    return sidra_smi_number_of(&value, &number) ? fmt::format("{:.{}f}{}", number, digits, unit) : "-";
}

}  // namespace sidra::smi_tool
