// SPDX-License-Identifier: MIT
// The vector primitives of simd.inc in plain C++: 4 lanes, for every processor. In an unnamed namespace, see
// simd_avx512.h.
#ifndef SIDRA_CHIP_ENGINE_SIMD_PORTABLE_H
#define SIDRA_CHIP_ENGINE_SIMD_PORTABLE_H

#include <math.h>
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

template <class Element>
inline I load_as(const void* p, size_t n) {
    Element x[W] = {};
    __builtin_memcpy(x, p, n * sizeof(Element));
    return I{x[0], x[1], x[2], x[3]};
}
template <class Element>
inline void store_as(void* p, I x, size_t n) {
    const Element low[W] = {static_cast<Element>(x[0]), static_cast<Element>(x[1]), static_cast<Element>(x[2]),
                            static_cast<Element>(x[3])};
    __builtin_memcpy(p, low, n * sizeof(Element));
}

inline I load_s32(const void* p, size_t n) { return load_as<int32_t>(p, n); }
inline I load_s32(const void* p) { return load_s32(p, W); }
inline F load_f32(const void* p, size_t n) { return reinterpret_cast<F>(load_s32(p, n)); }
inline F load_f32(const void* p) { return load_f32(p, W); }
inline void store(void* p, I x, size_t n) { __builtin_memcpy(p, &x, n * 4); }
inline void store(void* p, I x) { store(p, x, W); }
inline void store(void* p, F x, size_t n) { __builtin_memcpy(p, &x, n * 4); }
inline void store(void* p, F x) { store(p, x, W); }
inline I load_s8(const void* p, size_t n) { return load_as<int8_t>(p, n); }
inline I load_s8(const void* p) { return load_s8(p, W); }
inline I load_u8(const void* p, size_t n) { return load_as<uint8_t>(p, n); }
inline I load_u8(const void* p) { return load_u8(p, W); }
inline I load_u16(const void* p, size_t n) { return load_as<uint16_t>(p, n); }
inline I load_u16(const void* p) { return load_u16(p, W); }
// The low bytes or halves of the lanes
inline void store_bytes(void* p, I x, size_t n) { store_as<uint8_t>(p, x, n); }
inline void store_bytes(void* p, I x) { store_bytes(p, x, W); }
inline void store_u16(void* p, I x, size_t n) { store_as<uint16_t>(p, x, n); }
inline void store_u16(void* p, I x) { store_u16(p, x, W); }

inline I select(I mask, I a, I b) { return (mask & a) | (~mask & b); }
inline F select(I mask, F a, F b) {
    return reinterpret_cast<F>(select(mask, reinterpret_cast<I>(a), reinterpret_cast<I>(b)));
}
// a < b ? a : b and a > b ? a : b: b if one of them is NaN.
inline F lesser(F a, F b) { return select(a < b, a, b); }
inline F greater(F a, F b) { return select(a > b, a, b); }
inline I max(I a, I b) { return select(a > b, a, b); }
inline I min(I a, I b) { return select(a < b, a, b); }

template <class Function>
inline F each(F x, Function f) {
    return F{f(x[0]), f(x[1]), f(x[2]), f(x[3])};
}
inline F square_root(F x) {
    return each(x, [](float a) { return sqrtf(a); });
}
inline F fma(F a, F b, F c) {
    return F{fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
}
inline F round_even(F x) {
    return each(x, [](float a) { return nearbyintf(a); });
}
inline F round_down(F x) {
    return each(x, [](float a) { return floorf(a); });
}
inline F round_up(F x) {
    return each(x, [](float a) { return ceilf(a); });
}
inline F round_to_zero(F x) {
    return each(x, [](float a) { return truncf(a); });
}

// Nearest even, saturating, NaN to 0.
inline I rne(F x) {
    const auto one = [](float a) {
        if (!(a == a)) return 0;
        if (a >= 0x1p31f) return INT32_MAX;
        if (a < -0x1p31f) return INT32_MIN;
        return static_cast<int32_t>(nearbyintf(a));
    };
    return I{one(x[0]), one(x[1]), one(x[2]), one(x[3])};
}

// Products of matrices, see simd_matmul.inc.
constexpr size_t kGroup = 1;
constexpr size_t kSumRows = 4, kSumVectors = 2;
constexpr bool signed_a(bool) { return true; }
template <bool>
inline I dot_words(I sum, I a, I b) {
    return reinterpret_cast<I>(reinterpret_cast<U>(sum) + reinterpret_cast<U>(a) * reinterpret_cast<U>(b));
}

}  // namespace
}  // namespace sidra::engine

#endif
