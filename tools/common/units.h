// SPDX-License-Identifier: MIT
// Sizes and rates as people read them.
#ifndef SIDRA_COMMON_UNITS_H
#define SIDRA_COMMON_UNITS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sidra::tools {

// Of memory, in units of 1024 as free(1) and df(1) have them, in four characters: "0B", "64K", "1.5G". Absent: "-".
std::string bytes_text(std::optional<uint64_t> bytes);

// Three digits, a decimal prefix and the unit: "1.23 GB/s", "12.3 M/s", "0 B/s". The value is in units of
// 1000^thousands: -3 with the unit "s" makes "55.4 ms" of nanoseconds. Absent: "-".
std::string scaled(std::optional<double> value, std::string_view unit, int thousands = 0);

}  // namespace sidra::tools

#endif
