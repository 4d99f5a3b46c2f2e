// SPDX-License-Identifier: MIT
// Formats numbers for people.
#ifndef SIDRA_SMI_UNITS_H
#define SIDRA_SMI_UNITS_H

#include <sidra/smi.h>

#include <string>
#include <string_view>

namespace sidra::smi_tool {

std::string seconds_text(uint64_t ns);  // 1.234 s
// A value with this number of decimal digits and a unit; "-" if it is absent or a text.
std::string rounded(const sidra_smi_value& value, int digits, const char* unit);

// A value with a prefix and its unit: "82.9 G/s", "55.4 ms", "16M", "60 W"; "-" if it is absent. A value without a unit
// is a count and exact.
std::string readable(const sidra_smi_field& field, const sidra_smi_value& value);
// Whether readable() chooses a prefix for each value of this unit. If not, the unit can be the title of a column.
bool has_prefixes(std::string_view unit);

}  // namespace sidra::smi_tool

#endif
