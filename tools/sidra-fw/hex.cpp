// SPDX-License-Identifier: MIT
#include "hex.h"

#include <sodium.h>

namespace sidra::fw {

std::string hex(std::span<const uint8_t> bytes) {
    std::string text(bytes.size() * 2 + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
    text.pop_back();
    return text;
}

bool parse_hex(std::string_view text, std::span<uint8_t> bytes) {
    return text.size() == bytes.size() * 2 &&
           sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, nullptr, nullptr) == 0;
}

}  // namespace sidra::fw
