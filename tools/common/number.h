// SPDX-License-Identifier: MIT
// A number that a person typed.
#ifndef SIDRA_COMMON_NUMBER_H
#define SIDRA_COMMON_NUMBER_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sidra::tools {

// Decimal, or hexadecimal with 0x; nothing before or after it. Nothing if it is none, or needs more than 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

}  // namespace sidra::tools

#endif
