// SPDX-License-Identifier: MIT
#include "identity.h"

#include <cstring>

namespace sidra::chip {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t split_mix(uint64_t& state) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}  // namespace

Identity::Uuid uuid_of(uint64_t seed) {
    Identity::Uuid uuid;
    for (int i = 0; i < 2; i++) {
        const uint64_t word = split_mix(seed);
        std::memcpy(uuid.data() + 8 * i, &word, 8);
    }
    uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x80);  // RFC 9562 version 8 (vendor specific), variant 1
    uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

}  // namespace sidra::chip
