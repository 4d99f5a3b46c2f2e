// SPDX-License-Identifier: MIT
// The vector primitives of simd.inc with AVX-512: 16 lanes. Everything is in an unnamed namespace, so that the linker
// cannot use functions compiled with this file's flags in the rest of the program.
#ifndef SIDRA_CHIP_ENGINE_SIMD_AVX512_H
#define SIDRA_CHIP_ENGINE_SIMD_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace sidra::engine {
namespace {

constexpr size_t W = 16;
typedef float F __attribute__((vector_size(64)));
typedef int32_t I __attribute__((vector_size(64)));
typedef uint32_t U __attribute__((vector_size(64)));

// GCC 12 warns of uninitialised operands in its unmasked forms of some intrinsics. The masked forms with all lanes give
// the same code.
constexpr __mmask16 kAll = 0xffff;

inline __mmask16 first(size_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

inline F splat(float x) { return reinterpret_cast<F>(_mm512_set1_ps(x)); }
inline I splat(int32_t x) { return reinterpret_cast<I>(_mm512_set1_epi32(x)); }

inline F load_f32(const void* p) { return reinterpret_cast<F>(_mm512_loadu_ps(p)); }
inline F load_f32(const void* p, size_t n) { return reinterpret_cast<F>(_mm512_maskz_loadu_ps(first(n), p)); }
inline I load_s32(const void* p) { return reinterpret_cast<I>(_mm512_loadu_si512(p)); }
inline I load_s32(const void* p, size_t n) { return reinterpret_cast<I>(_mm512_maskz_loadu_epi32(first(n), p)); }
inline void store(void* p, F x) { _mm512_storeu_ps(p, reinterpret_cast<__m512>(x)); }
inline void store(void* p, F x, size_t n) { _mm512_mask_storeu_ps(p, first(n), reinterpret_cast<__m512>(x)); }
inline void store(void* p, I x) { _mm512_storeu_si512(p, reinterpret_cast<__m512i>(x)); }
inline void store(void* p, I x, size_t n) { _mm512_mask_storeu_epi32(p, first(n), reinterpret_cast<__m512i>(x)); }

inline I load_s8(const void* p) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepi8_epi32(kAll, _mm_loadu_si128(static_cast<const __m128i_u*>(p))));
}
inline I load_s8(const void* p, size_t n) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepi8_epi32(kAll, _mm_maskz_loadu_epi8(first(n), p)));
}
inline I load_u8(const void* p) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(static_cast<const __m128i_u*>(p))));
}
inline I load_u8(const void* p, size_t n) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepu8_epi32(kAll, _mm_maskz_loadu_epi8(first(n), p)));
}
// The low byte of each lane
inline void store_bytes(void* p, I x) {
    _mm_storeu_si128(static_cast<__m128i_u*>(p), _mm512_maskz_cvtepi32_epi8(kAll, reinterpret_cast<__m512i>(x)));
}
inline void store_bytes(void* p, I x, size_t n) {
    _mm_mask_storeu_epi8(p, first(n), _mm512_maskz_cvtepi32_epi8(kAll, reinterpret_cast<__m512i>(x)));
}

inline I load_u16(const void* p) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepu16_epi32(kAll, _mm256_loadu_si256(static_cast<const __m256i_u*>(p))));
}
inline I load_u16(const void* p, size_t n) {
    return reinterpret_cast<I>(_mm512_maskz_cvtepu16_epi32(kAll, _mm256_maskz_loadu_epi16(first(n), p)));
}
// The low half of each lane
inline void store_u16(void* p, I x) {
    _mm256_storeu_si256(static_cast<__m256i_u*>(p), _mm512_maskz_cvtepi32_epi16(kAll, reinterpret_cast<__m512i>(x)));
}
inline void store_u16(void* p, I x, size_t n) {
    _mm256_mask_storeu_epi16(p, first(n), _mm512_maskz_cvtepi32_epi16(kAll, reinterpret_cast<__m512i>(x)));
}

inline F fma(F a, F b, F c) {
    return reinterpret_cast<F>(
        _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
}
inline F round_even(F x) {
    return reinterpret_cast<F>(
        _mm512_maskz_roundscale_ps(kAll, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
}
inline F round_down(F x) {
    return reinterpret_cast<F>(_mm512_maskz_roundscale_ps(kAll, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEG_INF));
}
inline F round_up(F x) {
    return reinterpret_cast<F>(_mm512_maskz_roundscale_ps(kAll, reinterpret_cast<__m512>(x), _MM_FROUND_TO_POS_INF));
}
inline F round_to_zero(F x) {
    return reinterpret_cast<F>(_mm512_maskz_roundscale_ps(kAll, reinterpret_cast<__m512>(x), _MM_FROUND_TO_ZERO));
}

// a < b ? a : b and a > b ? a : b: b if one of them is NaN.
inline F lesser(F a, F b) {
    return reinterpret_cast<F>(_mm512_maskz_min_ps(kAll, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
}
inline F greater(F a, F b) {
    return reinterpret_cast<F>(_mm512_maskz_max_ps(kAll, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
}
inline F select(I mask, F a, F b) { return mask ? a : b; }
inline I select(I mask, I a, I b) { return mask ? a : b; }
inline I max(I a, I b) { return a > b ? a : b; }
inline I min(I a, I b) { return a < b ? a : b; }
inline F square_root(F x) { return reinterpret_cast<F>(_mm512_maskz_sqrt_ps(kAll, reinterpret_cast<__m512>(x))); }

// Nearest even, saturating, NaN to 0. The instruction returns INT32_MIN for values out of range.
inline I rne(F x) {
    const __m512 v = reinterpret_cast<__m512>(x);
    const __m512i r = _mm512_maskz_cvtps_epi32(kAll, v);
    const __mmask16 high = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    const __mmask16 number = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
    return reinterpret_cast<I>(
        _mm512_maskz_mov_epi32(number, _mm512_mask_mov_epi32(r, high, _mm512_set1_epi32(INT32_MAX))));
}

// Products of matrices, see simd_matmul.inc. vpdpbusd multiplies u8 by s8.
constexpr size_t kGroup = 4;                     // integers in a lane
constexpr size_t kSumRows = 6, kSumVectors = 4;  // sums in registers
constexpr bool signed_a(bool signed_b) { return !signed_b; }
template <bool kUnsignedB>
inline I dot_words(I sum, I a, I b) {
    const I u = kUnsignedB ? b : a, s = kUnsignedB ? a : b;
    return reinterpret_cast<I>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(u),
                                                   reinterpret_cast<__m512i>(s)));
}

}  // namespace
}  // namespace sidra::engine

#endif
