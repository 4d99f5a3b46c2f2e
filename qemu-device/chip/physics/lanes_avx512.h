// SPDX-License-Identifier: MIT
// The vector primitives of ispp.inc and relax.inc for AVX-512: 16 lanes. They are in an unnamed namespace, so that the
// linker never uses code compiled for this instruction set elsewhere.
#ifndef SIDRA_PHYSICS_LANES_AVX512_H
#define SIDRA_PHYSICS_LANES_AVX512_H

#include <immintrin.h>

#include <cstdint>

namespace sidra::physics {
namespace {

constexpr uint32_t W = 16;
typedef float F __attribute__((vector_size(64)));
typedef int32_t I __attribute__((vector_size(64)));
typedef uint64_t L __attribute__((vector_size(64)));
typedef uint16_t H __attribute__((vector_size(32)));
typedef uint8_t B __attribute__((vector_size(16)));

// GCC 12 warns of uninitialised operands in its own unmasked forms of some intrinsics; with all lanes chosen the code
// is the same.
constexpr __mmask16 kAll = 0xffff;

inline I bits(F x) { return reinterpret_cast<I>(x); }
inline F number(I x) { return reinterpret_cast<F>(x); }
inline F to_float(I x) { return __builtin_convertvector(x, F); }
inline I to_int(F x) { return __builtin_convertvector(x, I); }
inline F root(F x) { return _mm512_maskz_sqrt_ps(kAll, x); }
inline F load(const float* from) { return _mm512_loadu_ps(from); }
inline I load(const int32_t* from) { return reinterpret_cast<I>(_mm512_loadu_si512(from)); }
inline void store(float* to, F x) { _mm512_storeu_ps(to, x); }
// The product of the lower halves.
inline L product(L a, L b) {
    return reinterpret_cast<L>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
inline uint32_t chosen(I mask) {
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask));
}
inline F look_up(const float* table, I at) {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), kAll, reinterpret_cast<__m512i>(at), table, sizeof *table);
}
inline I look_up(const int32_t* table, I at) {
    return reinterpret_cast<I>(
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), kAll, reinterpret_cast<__m512i>(at), table, sizeof *table));
}
// Stores the chosen lanes one after the other; what follows them is undefined. It packs them in a register, because
// packing into memory is slow on some processors.
inline void keep(float* to, F x, uint32_t lanes) {
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(static_cast<__mmask16>(lanes), x));
}
inline void keep(int32_t* to, I x, uint32_t lanes) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), reinterpret_cast<__m512i>(x)));
}

}  // namespace
}  // namespace sidra::physics

#endif
