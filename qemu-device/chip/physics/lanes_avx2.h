// SPDX-License-Identifier: MIT
// The vector primitives of ispp.inc and relax.inc for AVX2: 8 lanes. They are in an unnamed namespace, so that the
// linker never uses code compiled for this instruction set elsewhere.
#ifndef SIDRA_PHYSICS_LANES_AVX2_H
#define SIDRA_PHYSICS_LANES_AVX2_H

#include <immintrin.h>

#include <cstdint>

namespace sidra::physics {
namespace {

constexpr uint32_t W = 8;
typedef float F __attribute__((vector_size(32)));
typedef int32_t I __attribute__((vector_size(32)));
typedef uint64_t L __attribute__((vector_size(32)));
typedef uint16_t H __attribute__((vector_size(16)));
typedef uint8_t B __attribute__((vector_size(8)));

inline I bits(F x) { return reinterpret_cast<I>(x); }
inline F number(I x) { return reinterpret_cast<F>(x); }
inline F to_float(I x) { return __builtin_convertvector(x, F); }
inline I to_int(F x) { return __builtin_convertvector(x, I); }
inline F root(F x) { return _mm256_sqrt_ps(x); }
inline F load(const float* from) { return _mm256_loadu_ps(from); }
inline I load(const int32_t* from) {
    return reinterpret_cast<I>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline void store(float* to, F x) { _mm256_storeu_ps(to, x); }
// The product of the lower halves.
inline L product(L a, L b) {
    return reinterpret_cast<L>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
inline uint32_t chosen(I mask) { return static_cast<uint32_t>(_mm256_movemask_ps(number(mask))); }
inline F look_up(const float* table, I at) {
    return _mm256_i32gather_ps(table, reinterpret_cast<__m256i>(at), sizeof *table);
}
inline I look_up(const int32_t* table, I at) {
    return reinterpret_cast<I>(_mm256_i32gather_epi32(table, reinterpret_cast<__m256i>(at), sizeof *table));
}

// For each mask, the permutation that moves the chosen lanes to the front.
struct Choices {
    alignas(32) int32_t lane[256][W];
};
constexpr Choices make_choices() {
    Choices choices{};
    for (uint32_t mask = 0; mask < 256; mask++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < W; i++)
            if ((mask >> i & 1) != 0) choices.lane[mask][n++] = static_cast<int32_t>(i);
    }
    return choices;
}
constexpr Choices kChoices = make_choices();

// Stores the chosen lanes one after the other; what follows them is undefined.
inline void keep(float* to, F x, uint32_t lanes) {
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(kChoices.lane[lanes]));
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(x, order));
}
inline void keep(int32_t* to, I x, uint32_t lanes) { keep(reinterpret_cast<float*>(to), number(x), lanes); }

}  // namespace
}  // namespace sidra::physics

#endif
