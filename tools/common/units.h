// SPDX-License-Identifier: MIT
// Sizes and rates for people.
#ifndef SIDRA_COMMON_UNITS_H
#define SIDRA_COMMON_UNITS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sidra::tools {

// Formats memory sizes in units of 1024, like free(1) and df(1), in four characters: "0B", "64K", "1.5G". Absent: "-".
std::string bytes_text(std::optional<uint64_t> bytes);

// Formats three digits, a decimal prefix and the unit: "1.23 GB/s", "12.3 M/s", "0 B/s". The value is in units of
// 1000^thousands: with -3 and the unit "s", nanoseconds become "55.4 ms". Absent: "-".
std::string scaled(std::optional<double> value, std::string_view unit, int thousands = 0);

}  // namespace sidra::tools

#endif
