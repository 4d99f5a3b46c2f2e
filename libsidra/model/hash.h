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

}  // namespace sidra::format

#endif
