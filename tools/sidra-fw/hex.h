// SPDX-License-Identifier: MIT
// Bytes as people see them in files and listings.
#ifndef SIDRA_FW_HEX_H
#define SIDRA_FW_HEX_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sidra::fw {

std::string hex(std::span<const uint8_t> bytes);
// Fills `bytes` exactly; false if `text` is no hexadecimal, or of another length.
bool parse_hex(std::string_view text, std::span<uint8_t> bytes);

}  // namespace sidra::fw

#endif
