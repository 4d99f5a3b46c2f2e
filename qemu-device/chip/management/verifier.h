// SPDX-License-Identifier: MIT
// The block that hashes and checks signatures, by libsodium.
#ifndef SIDRA_MANAGEMENT_VERIFIER_H
#define SIDRA_MANAGEMENT_VERIFIER_H

#include <sodium.h>

#include <cstdint>
#include <span>

namespace sidra::management {

// What is plain here goes into saved states as it is. One thread at a time.
struct Verifier {
    crypto_hash_sha256_state hash;  // between begin() and end()
    uint32_t hashing;               // whether it is
    uint32_t reserved;
    uint32_t digest[8], key[8], signature[16];

    void begin();
    bool add(std::span<const uint8_t> bytes);  // false: none was begun
    bool end();
    bool signature_is_of(std::span<const uint8_t> message) const;
};

}  // namespace sidra::management

#endif
