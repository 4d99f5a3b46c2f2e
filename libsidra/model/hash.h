// SPDX-License-Identifier: MIT
// The hash of a .sidra file's parts. It detects damage, not attacks.
#ifndef SIDRA_MODEL_HASH_H
#define SIDRA_MODEL_HASH_H

#include <cstddef>
#include <cstdint>

// All of it is inline: nothing is linked for it, and no symbol is exported.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sidra::format {

inline uint64_t hash_of(const void* data, size_t size) { return XXH3_64bits(data, size); }

// The same of bytes that come in pieces.
class Hash {
   public:
    Hash() { XXH3_64bits_reset(&state_); }
    void add(const void* data, size_t size) { XXH3_64bits_update(&state_, data, size); }
    uint64_t value() const { return XXH3_64bits_digest(&state_); }

   private:
    XXH3_state_t state_;
};

}  // namespace sidra::format

#endif
