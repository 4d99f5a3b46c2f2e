// SPDX-License-Identifier: MIT
// The vector primitives of simd.inc with NEON (AArch64): 4 lanes. In an unnamed namespace, see simd_avx512.h.
#ifndef SIDRA_CHIP_ENGINE_SIMD_NEON_H
#define SIDRA_CHIP_ENGINE_SIMD_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

namespace sidra::engine {
namespace {

constexpr size_t W = 4;
typedef float F __attribute__((vector_size(16)));
typedef int32_t I __attribute__((vector_size(16)));
typedef uint32_t U __attribute__((vector_size(16)));

inline F splat(float x) { return F{x, x, x, x}; }
inline I splat(int32_t x) { return I{x, x, x, x}; }

inline I load_s32(const void* p) {
    I x;
    __builtin_memcpy(&x, p, 16);
    return x;
}
inline I load_s32(const void* p, size_t n) {
    int32_t x[4] = {};
    for (size_t i = 0; i < n; ++i) __builtin_memcpy(&x[i], static_cast<const char*>(p) + i * 4, 4);
    return I{x[0], x[1], x[2], x[3]};
}
inline F load_f32(const void* p) { return reinterpret_cast<F>(load_s32(p)); }
inline F load_f32(const void* p, size_t n) { return reinterpret_cast<F>(load_s32(p, n)); }
inline void store(void* p, I x) { __builtin_memcpy(p, &x, 16); }
inline void store(void* p, I x, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const int32_t lane = x[i];
        __builtin_memcpy(static_cast<char*>(p) + i * 4, &lane, 4);
    }
}
inline void store(void* p, F x) { store(p, reinterpret_cast<I>(x)); }
inline void store(void* p, F x, size_t n) { store(p, reinterpret_cast<I>(x), n); }

inline uint32_t load_bytes(const void* p, size_t n) {
    uint32_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes |= uint32_t{static_cast<const uint8_t*>(p)[i]} << (8 * i);
    return bytes;
}
inline uint32_t load_bytes(const void* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return bytes;
}
inline I widen_s8(uint32_t x) { return reinterpret_cast<I>(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(x))))); }
inline I widen_u8(uint32_t x) { return reinterpret_cast<I>(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(x))))); }
inline I load_s8(const void* p) { return widen_s8(load_bytes(p)); }
inline I load_s8(const void* p, size_t n) { return widen_s8(load_bytes(p, n)); }
inline I load_u8(const void* p) { return widen_u8(load_bytes(p)); }
inline I load_u8(const void* p, size_t n) { return widen_u8(load_bytes(p, n)); }
inline uint32_t low_bytes(I x) {
    const uint16x4_t halves = vmovn_u32(reinterpret_cast<uint32x4_t>(x));
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
    return vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
}
inline void store_bytes(void* p, I x) {
    const uint32_t bytes = low_bytes(x);
    __builtin_memcpy(p, &bytes, 4);
}
inline void store_bytes(void* p, I x, size_t n) {
    uint32_t bytes = low_bytes(x);
    for (size_t i = 0; i < n; ++i, bytes >>= 8) static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(bytes);
}

inline I load_u16(const void* p, size_t n) {
    uint16_t halves[4] = {};
    __builtin_memcpy(halves, p, n * 2);
    return I{halves[0], halves[1], halves[2], halves[3]};
}
inline I load_u16(const void* p) { return load_u16(p, 4); }
// The low half of each lane
inline void store_u16(void* p, I x, size_t n) {
    const uint16x4_t halves = vmovn_u32(reinterpret_cast<uint32x4_t>(x));
    __builtin_memcpy(p, &halves, n * 2);
}
inline void store_u16(void* p, I x) { store_u16(p, x, 4); }

inline F fma(F a, F b, F c) {
    return reinterpret_cast<F>(vfmaq_f32(reinterpret_cast<float32x4_t>(c), reinterpret_cast<float32x4_t>(a),
                                         reinterpret_cast<float32x4_t>(b)));
}
inline F round_even(F x) { return reinterpret_cast<F>(vrndnq_f32(reinterpret_cast<float32x4_t>(x))); }
inline F round_down(F x) { return reinterpret_cast<F>(vrndmq_f32(reinterpret_cast<float32x4_t>(x))); }
inline F round_up(F x) { return reinterpret_cast<F>(vrndpq_f32(reinterpret_cast<float32x4_t>(x))); }
inline F round_to_zero(F x) { return reinterpret_cast<F>(vrndq_f32(reinterpret_cast<float32x4_t>(x))); }

inline I select(I mask, I a, I b) { return (mask & a) | (~mask & b); }
inline F select(I mask, F a, F b) {
    return reinterpret_cast<F>(select(mask, reinterpret_cast<I>(a), reinterpret_cast<I>(b)));
}
// a < b ? a : b and a > b ? a : b: b if one of them is NaN.
inline F lesser(F a, F b) { return select(a < b, a, b); }
inline F greater(F a, F b) { return select(a > b, a, b); }
inline I max(I a, I b) {
    return reinterpret_cast<I>(vmaxq_s32(reinterpret_cast<int32x4_t>(a), reinterpret_cast<int32x4_t>(b)));
}
inline I min(I a, I b) {
    return reinterpret_cast<I>(vminq_s32(reinterpret_cast<int32x4_t>(a), reinterpret_cast<int32x4_t>(b)));
}
inline F square_root(F x) { return reinterpret_cast<F>(vsqrtq_f32(reinterpret_cast<float32x4_t>(x))); }
// Nearest even, saturating, NaN to 0: as the instruction does.
inline I rne(F x) { return reinterpret_cast<I>(vcvtnq_s32_f32(reinterpret_cast<float32x4_t>(x))); }

// Products of matrices, see simd_matmul.inc. Dot products have the same signedness on both sides.
constexpr size_t kSumRows = 6, kSumVectors = 4;
#ifdef __ARM_FEATURE_DOTPROD
constexpr size_t kGroup = 4;
constexpr bool signed_a(bool signed_b) { return signed_b; }
template <bool kUnsignedB>
inline I dot_words(I sum, I a, I b) {
    if constexpr (kUnsignedB)
        return reinterpret_cast<I>(vdotq_u32(reinterpret_cast<uint32x4_t>(sum), reinterpret_cast<uint8x16_t>(a),
                                             reinterpret_cast<uint8x16_t>(b)));
    else
        return reinterpret_cast<I>(vdotq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int8x16_t>(a),
                                             reinterpret_cast<int8x16_t>(b)));
}
#else
constexpr size_t kGroup = 1;
constexpr bool signed_a(bool) { return true; }
template <bool>
inline I dot_words(I sum, I a, I b) {
    return reinterpret_cast<I>(
        vmlaq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int32x4_t>(a), reinterpret_cast<int32x4_t>(b)));
}
#endif

}  // namespace
}  // namespace sidra::engine

#endif
