// SPDX-License-Identifier: MIT
// The vector primitives of ispp.inc and relax.inc for NEON: 4 lanes. They are in an unnamed namespace, so that the
// linker never uses code compiled for this instruction set elsewhere.
#ifndef SIDRA_PHYSICS_LANES_NEON_H
#define SIDRA_PHYSICS_LANES_NEON_H

#include <arm_neon.h>

#include <cstdint>

namespace sidra::physics {
namespace {

constexpr uint32_t W = 4;
typedef float F __attribute__((vector_size(16)));
typedef int32_t I __attribute__((vector_size(16)));
typedef uint64_t L __attribute__((vector_size(16)));
typedef uint16_t H __attribute__((vector_size(8)));
typedef uint8_t B __attribute__((vector_size(4)));

inline I bits(F x) { return reinterpret_cast<I>(x); }
inline F number(I x) { return reinterpret_cast<F>(x); }
inline F to_float(I x) { return __builtin_convertvector(x, F); }
inline I to_int(F x) { return __builtin_convertvector(x, I); }
inline F root(F x) { return reinterpret_cast<F>(vsqrtq_f32(reinterpret_cast<float32x4_t>(x))); }
inline F load(const float* from) { return reinterpret_cast<F>(vld1q_f32(from)); }
inline I load(const int32_t* from) { return reinterpret_cast<I>(vld1q_s32(from)); }
inline void store(float* to, F x) { vst1q_f32(to, reinterpret_cast<float32x4_t>(x)); }
// The product of the lower halves.
inline L product(L a, L b) {
    return reinterpret_cast<L>(
        vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
}
inline uint32_t chosen(I mask) {
    const uint32x4_t weight = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(reinterpret_cast<uint32x4_t>(mask), weight));
}
inline F look_up(const float* table, I at) { return F{table[at[0]], table[at[1]], table[at[2]], table[at[3]]}; }
inline I look_up(const int32_t* table, I at) { return I{table[at[0]], table[at[1]], table[at[2]], table[at[3]]}; }
// Stores the chosen lanes one after the other; what follows them is undefined.
template <class Element, class Vector>
inline void keep_each(Element* to, Vector x, uint32_t lanes) {
    for (uint32_t i = 0; i < W; i++) {
        *to = x[i];
        to += lanes >> i & 1;
    }
}
inline void keep(float* to, F x, uint32_t lanes) { keep_each(to, x, lanes); }
inline void keep(int32_t* to, I x, uint32_t lanes) { keep_each(to, x, lanes); }

}  // namespace
}  // namespace sidra::physics

#endif
