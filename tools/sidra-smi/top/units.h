// SPDX-License-Identifier: MIT
// Compact figures.
#ifndef SIDRA_SMI_TOP_UNITS_H
#define SIDRA_SMI_TOP_UNITS_H

#include <optional>
#include <string>
#include <string_view>

namespace sidra::top {

// With `digits` decimals and the unit: "61.2 C". Absent: "-".
std::string fixed(std::optional<double> value, int digits, std::string_view unit);
// The smallest 1, 2 or 5 times a power of ten that is at least `value` and at least 1: the top of a graph without a
// limit.
double round_up(double value);

}  // namespace sidra::top

#endif
