// SPDX-License-Identifier: MIT
// Numbers as people read them.
#ifndef SIDRA_SMI_UNITS_H
#define SIDRA_SMI_UNITS_H

#include <sidra/smi.h>

#include <string>

namespace sidra::smi_tool {

std::string seconds_text(uint64_t ns);  // 1.234 s
// Of a field, with so many digits behind the point and a unit behind it; "-" if it is absent, or
// a text.
std::string rounded(const sidra_smi_value& value, int digits, const char* unit);

}  // namespace sidra::smi_tool

#endif
