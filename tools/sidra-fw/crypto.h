// SPDX-License-Identifier: MIT
// SHA-256 and Ed25519, by libsodium.
#ifndef SIDRA_FW_CRYPTO_H
#define SIDRA_FW_CRYPTO_H

#include <array>
#include <cstdint>
#include <span>

#include "image/image.h"

namespace sidra::fw {

using Digest = std::array<uint8_t, SIDRA_IMAGE_DIGEST_SIZE>;
using PublicKey = std::array<uint8_t, SIDRA_IMAGE_KEY_SIZE>;
using Signature = std::array<uint8_t, SIDRA_IMAGE_SIGNATURE_SIZE>;

// What an Ed25519 key is made of (RFC 8032 calls it the private key). Forgotten when it goes.
class Seed {
   public:
    Seed() = default;
    Seed(const Seed& other) = default;
    Seed& operator=(const Seed& other) = default;
    ~Seed();
    std::array<uint8_t, 32> bytes{};
};

// Throws Error if the library does not start.
Seed random_seed();
PublicKey public_key(const Seed& seed);
Signature sign(const Seed& seed, std::span<const uint8_t> message);
Digest sha256(std::span<const uint8_t> bytes);

// For the verifier. Throws Error as above.
const sidra_image_crypto& crypto();

}  // namespace sidra::fw

#endif
