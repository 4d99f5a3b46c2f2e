// SPDX-License-Identifier: MIT
// Numbers in user input.
#ifndef SIDRA_COMMON_NUMBER_H
#define SIDRA_COMMON_NUMBER_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sidra::tools {

// Parses a decimal number, or a hexadecimal one with 0x, and nothing else. Returns nothing if it is invalid or needs
// more than 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

}  // namespace sidra::tools

#endif
