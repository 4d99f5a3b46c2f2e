// SPDX-License-Identifier: MIT
#include "hex.h"

#include <charconv>

namespace sidra::fw {

std::string hex(std::span<const uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

bool parse_hex(std::string_view text, std::span<uint8_t> bytes) {
    if (text.size() != bytes.size() * 2) return false;
    for (uint8_t& byte : bytes) {
        const auto [stop, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
        if (error != std::errc{} || stop != text.data() + 2) return false;
        text.remove_prefix(2);
    }
    return true;
}

}  // namespace sidra::fw
