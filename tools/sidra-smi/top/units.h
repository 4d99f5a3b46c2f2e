// SPDX-License-Identifier: MIT
// Figures for small places.
#ifndef SIDRA_SMI_TOP_UNITS_H
#define SIDRA_SMI_TOP_UNITS_H

#include <optional>
#include <string>
#include <string_view>

namespace sidra::top {

// With `digits` behind the point, and the unit: "61.2 C". Absent: "-".
std::string fixed(std::optional<double> value, int digits, std::string_view unit);
// 1, 2 or 5 times a power of ten that is not below `value`, and at least 1: the top of a graph without a limit.
double round_up(double value);

}  // namespace sidra::top

#endif
