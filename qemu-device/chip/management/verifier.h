// SPDX-License-Identifier: MIT
// The block that computes hashes and verifies signatures, with libsodium.
#ifndef SIDRA_MANAGEMENT_VERIFIER_H
#define SIDRA_MANAGEMENT_VERIFIER_H

#include <sodium.h>

#include <cstdint>
#include <span>

namespace sidra::management {

// Plain members are copied into saved states. One thread at a time.
struct Verifier {
    crypto_hash_sha256_state hash;  // between begin() and end()
    uint32_t hashing;               // whether a hash was begun
    uint32_t reserved;
    uint32_t digest[8], key[8], signature[16];

    void begin();
    bool add(std::span<const uint8_t> bytes);  // false if no hash was begun
    bool end();
    bool signature_is_of(std::span<const uint8_t> message) const;
};

}  // namespace sidra::management

#endif
