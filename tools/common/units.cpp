// SPDX-License-Identifier: MIT
#include "common/units.h"

#include <fmt/format.h>

namespace sidra::tools {

std::string bytes_text(std::optional<uint64_t> bytes) {
    if (!bytes) return "-";
    constexpr const char* kUnits[] = {"B", "K", "M", "G", "T", "P", "E"};
    double number = static_cast<double>(*bytes);
    int unit = 0;
    // 999.5 would become 1000 when it is rounded.
    for (; number >= 999.5; ++unit) number /= 1024;
    return fmt::format("{:.{}f}{}", number, number < 9.95 && unit > 0 ? 1 : 0, kUnits[unit]);
}

}  // namespace sidra::tools
