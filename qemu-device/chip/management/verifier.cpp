// SPDX-License-Identifier: MIT
#include "verifier.h"

#include <cstring>

namespace sidra::management {

static_assert(sizeof(Verifier::digest) == crypto_hash_sha256_BYTES);
static_assert(sizeof(Verifier::key) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(Verifier::signature) == crypto_sign_BYTES);

void Verifier::begin() {
    crypto_hash_sha256_init(&hash);
    hashing = 1;
}

bool Verifier::add(std::span<const uint8_t> bytes) {
    if (!hashing) return false;
    crypto_hash_sha256_update(&hash, bytes.data(), bytes.size());
    return true;
}

bool Verifier::end() {
    if (!hashing) return false;
    uint8_t value[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&hash, value);
    std::memcpy(digest, value, sizeof digest);
    hashing = 0;
    return true;
}

bool Verifier::signature_is_of(std::span<const uint8_t> message) const {
    uint8_t public_key[sizeof key], claimed[sizeof signature];
    std::memcpy(public_key, key, sizeof key);
    std::memcpy(claimed, signature, sizeof signature);
    return crypto_sign_verify_detached(claimed, message.data(), message.size(), public_key) == 0;
}

}  // namespace sidra::management
