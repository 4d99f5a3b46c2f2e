// SPDX-License-Identifier: MIT
// Key files: text of lines `field: value`, so that a person can read one, and a slip of the hand is noticed.
// docs/firmware.md.
#ifndef SIDRA_FW_KEY_H
#define SIDRA_FW_KEY_H

#include <optional>
#include <string>
#include <string_view>

#include "crypto.h"

namespace sidra::fw {

struct Key {
    std::string name;  // letters, digits, '.', '_', '-'
    PublicKey public_key{};
    std::optional<Seed> seed;  // only of a private key

    Digest hash() const { return sha256(public_key); }
};

// The key that everybody has; its public half is part of this program.
const Key& development_key();
bool is_development(const Digest& hash);
// What to say wherever its signature is met.
inline constexpr std::string_view kDevelopmentWarning =
    "signed by the DEVELOPMENT key. Everybody has this key, so the signature says nothing about the origin of the "
    "image, and no product may trust it";

// Throw Error, with the line where it went wrong.
Key parse_key(const std::string& path, std::string_view text);
// A private key file that others may read is refused, but for the development key.
Key read_private_key(const std::string& path);
// Takes only what is in it of the public key, also from a private key file.
Key read_public_key(const std::string& path);

bool valid_name(std::string_view name);
std::string private_text(const Key& key);
std::string public_text(const Key& key);

}  // namespace sidra::fw

#endif
