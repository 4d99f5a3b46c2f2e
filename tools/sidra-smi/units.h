// SPDX-License-Identifier: MIT
// Numbers as people read them.
#ifndef SIDRA_SMI_UNITS_H
#define SIDRA_SMI_UNITS_H

#include <sidra/smi.h>

#include <string>
#include <string_view>

namespace sidra::smi_tool {

std::string seconds_text(uint64_t ns);  // 1.234 s
// Of a field, with so many digits behind the point and a unit behind it; "-" if it is absent, or
// a text.
std::string rounded(const sidra_smi_value& value, int digits, const char* unit);

// Of a field, with the prefix of its size and its unit: "82.9 G/s", "55.4 ms", "16M", "60 W"; "-" if it is absent. What
// has no unit is a count, and exact.
std::string readable(const sidra_smi_field& field, const sidra_smi_value& value);
// Whether readable() has a prefix of its own for each value of this unit; else the unit may as well stand above a
// column.
bool has_prefixes(std::string_view unit);

}  // namespace sidra::smi_tool

#endif
