// SPDX-License-Identifier: MIT
// The vector primitives of simd.inc with AVX2: 8 lanes. In an unnamed namespace, see simd_avx512.h.
#ifndef SIDRA_CHIP_ENGINE_SIMD_AVX2_H
#define SIDRA_CHIP_ENGINE_SIMD_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace sidra::engine {
namespace {

constexpr size_t W = 8;
typedef float F __attribute__((vector_size(32)));
typedef int32_t I __attribute__((vector_size(32)));
typedef uint32_t U __attribute__((vector_size(32)));

inline __m256i first(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline F splat(float x) { return reinterpret_cast<F>(_mm256_set1_ps(x)); }
inline I splat(int32_t x) { return reinterpret_cast<I>(_mm256_set1_epi32(x)); }

inline I load_s32(const void* p) { return reinterpret_cast<I>(_mm256_loadu_si256(static_cast<const __m256i_u*>(p))); }
inline I load_s32(const void* p, size_t n) {
    return reinterpret_cast<I>(_mm256_maskload_epi32(static_cast<const int*>(p), first(n)));
}
inline F load_f32(const void* p) { return reinterpret_cast<F>(load_s32(p)); }
inline F load_f32(const void* p, size_t n) { return reinterpret_cast<F>(load_s32(p, n)); }
inline void store(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i_u*>(p), reinterpret_cast<__m256i>(x)); }
inline void store(void* p, I x, size_t n) {
    _mm256_maskstore_epi32(static_cast<int*>(p), first(n), reinterpret_cast<__m256i>(x));
}
inline void store(void* p, F x) { store(p, reinterpret_cast<I>(x)); }
inline void store(void* p, F x, size_t n) { store(p, reinterpret_cast<I>(x), n); }

inline __m128i load_bytes(const void* p, size_t n) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes |= uint64_t{static_cast<const uint8_t*>(p)[i]} << (8 * i);
    return _mm_cvtsi64_si128(static_cast<long long>(bytes));
}
inline I load_s8(const void* p) { return reinterpret_cast<I>(_mm256_cvtepi8_epi32(_mm_loadu_si64(p))); }
inline I load_s8(const void* p, size_t n) { return reinterpret_cast<I>(_mm256_cvtepi8_epi32(load_bytes(p, n))); }
inline I load_u8(const void* p) { return reinterpret_cast<I>(_mm256_cvtepu8_epi32(_mm_loadu_si64(p))); }
inline I load_u8(const void* p, size_t n) { return reinterpret_cast<I>(_mm256_cvtepu8_epi32(load_bytes(p, n))); }
inline uint64_t low_bytes(I x) {
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i picked = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(x), pick);
    const __m128i both = _mm_or_si128(_mm256_castsi256_si128(picked), _mm256_extracti128_si256(picked, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(both));
}
inline void store_bytes(void* p, I x) {
    const uint64_t bytes = low_bytes(x);
    __builtin_memcpy(p, &bytes, 8);
}
inline void store_bytes(void* p, I x, size_t n) {
    uint64_t bytes = low_bytes(x);
    for (size_t i = 0; i < n; ++i, bytes >>= 8) static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(bytes);
}

inline __m128i load_halves(const void* p, size_t n) {
    uint16_t halves[8] = {};
    __builtin_memcpy(halves, p, n * 2);
    return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(halves));
}
inline I load_u16(const void* p) {
    return reinterpret_cast<I>(_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i_u*>(p))));
}
inline I load_u16(const void* p, size_t n) { return reinterpret_cast<I>(_mm256_cvtepu16_epi32(load_halves(p, n))); }
// The low half of each lane
inline __m128i low_halves(I x) {
    const __m256i low = _mm256_and_si256(reinterpret_cast<__m256i>(x), _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_castsi256_si128(packed);
}
inline void store_u16(void* p, I x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), low_halves(x)); }
inline void store_u16(void* p, I x, size_t n) {
    uint16_t halves[8];
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(halves), low_halves(x));
    __builtin_memcpy(p, halves, n * 2);
}

inline F fma(F a, F b, F c) {
    return reinterpret_cast<F>(
        _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
}
inline F round_even(F x) {
    return reinterpret_cast<F>(
        _mm256_round_ps(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline F round_down(F x) { return reinterpret_cast<F>(_mm256_floor_ps(reinterpret_cast<__m256>(x))); }
inline F round_up(F x) { return reinterpret_cast<F>(_mm256_ceil_ps(reinterpret_cast<__m256>(x))); }
inline F round_to_zero(F x) {
    return reinterpret_cast<F>(_mm256_round_ps(reinterpret_cast<__m256>(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

// a < b ? a : b and a > b ? a : b: b if one of them is NaN.
inline F lesser(F a, F b) {
    return reinterpret_cast<F>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
}
inline F greater(F a, F b) {
    return reinterpret_cast<F>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
}
inline F select(I mask, F a, F b) {
    return reinterpret_cast<F>(
        _mm256_blendv_ps(reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(mask)));
}
inline I select(I mask, I a, I b) {
    return reinterpret_cast<I>(select(mask, reinterpret_cast<F>(a), reinterpret_cast<F>(b)));
}
inline I max(I a, I b) {
    return reinterpret_cast<I>(_mm256_max_epi32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
inline I min(I a, I b) {
    return reinterpret_cast<I>(_mm256_min_epi32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
inline F square_root(F x) { return reinterpret_cast<F>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x))); }

// Nearest even, saturating, NaN to 0. The instruction returns INT32_MIN for values out of range.
inline I rne(F x) {
    const I r = reinterpret_cast<I>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(x)));
    return (select(x >= splat(0x1p31f), splat(INT32_MAX), r)) & (x == x);
}

// Products of matrices, see simd_matmul.inc.
constexpr size_t kSumRows = 6, kSumVectors = 2;
#ifdef SIDRA_SIMD_VNNI
constexpr size_t kGroup = 4;
constexpr bool signed_a(bool signed_b) { return !signed_b; }
// Adds products of u8 and s8.
inline __m256i dot_bytes(__m256i sum, __m256i u, __m256i s) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sum, u, s);
#else
    return _mm256_dpbusd_epi32(sum, u, s);  // the same with AVX-512
#endif
}
template <bool kUnsignedB>
inline I dot_words(I sum, I a, I b) {
    const I u = kUnsignedB ? b : a, s = kUnsignedB ? a : b;
    return reinterpret_cast<I>(
        dot_bytes(reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(u), reinterpret_cast<__m256i>(s)));
}
#else
// Integers are widened to 16 bits, as in the MVM.
constexpr size_t kGroup = 2;
constexpr bool signed_a(bool) { return true; }
template <bool>
inline I dot_words(I sum, I a, I b) {
    return reinterpret_cast<I>(_mm256_add_epi32(
        reinterpret_cast<__m256i>(sum), _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b))));
}
#endif

}  // namespace
}  // namespace sidra::engine

#endif
