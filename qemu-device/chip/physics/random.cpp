// SPDX-License-Identifier: MIT
#include "random.h"

#include "math_scalar.h"

namespace sidra::physics {

Words philox4x32(const Words& counter, const std::array<uint32_t, 2>& key) {
    Words c = counter;
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
             static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
        k0 += 0x9E3779B9;  // the golden ratio, and sqrt(3) - 1: Weyl sequences
        k1 += 0xBB67AE85;
    }
    return c;
}

Words words(const Draw& draw) {
    return philox4x32(
        {draw.cell, draw.crossbar, draw.program, static_cast<uint32_t>(draw.domain) << 16 | (draw.draw & 0xffff)},
        {static_cast<uint32_t>(draw.seed), static_cast<uint32_t>(draw.seed >> 32)});
}

float uniform(uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f; }

std::array<float, 2> normals(uint32_t first, uint32_t second) {
    std::array<float, 2> pair{};
    normal_pair<float, int32_t>(static_cast<int32_t>(first), static_cast<int32_t>(second), &pair[0], &pair[1]);
    return pair;
}

float same_log(float x) { return natural_log<float, int32_t>(x); }
float same_exp(float x) { return exponential<float, int32_t>(x); }

}  // namespace sidra::physics
