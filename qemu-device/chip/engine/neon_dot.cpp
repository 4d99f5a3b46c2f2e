// SPDX-License-Identifier: MIT
// What the NEON engine does with dot products. The MVM uses sdot, which multiplies s8 by s8: x w = (x - 128) w + 128 w,
// so each column's sum of weights is added 128 times.
#include "neon.h"
#include "numerics.h"
#include "simd_neon.h"

#define SIDRA_SIMD_MATMUL_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

using Input = int8_t;
template <int>
constexpr uint32_t kBlockCols = 16;

inline Input prepare(uint8_t x) { return static_cast<int8_t>(x ^ 0x80u); }

inline bool column_offset(const int8_t* weights, uint32_t groups, int32_t* offset) {
    const int8x16_t ones = vdupq_n_s8(1);
    for (uint32_t c = 0; c < kPanelCols; c += 4) {
        int32x4_t sum = vdupq_n_s32(0);
        for (uint32_t g = 0; g < groups; ++g) sum = vdotq_s32(sum, vld1q_s8(weights + size_t{g} * 256 + c * 4), ones);
        vst1q_s32(offset + c, vshlq_n_s32(sum, 7));
    }
    return true;
}

template <int M>
inline void multiply(const int8_t* weights, const Input* x, uint32_t groups, int32_t* sums) {
    int32x4_t acc[M][4];
    for (int m = 0; m < M; ++m) {
        for (int c = 0; c < 4; ++c) acc[m][c] = vdupq_n_s32(0);
    }
    for (uint32_t g = 0; g < groups; ++g, weights += 256, x += 4) {
        const int8x16_t w[4] = {vld1q_s8(weights), vld1q_s8(weights + 16), vld1q_s8(weights + 32),
                                vld1q_s8(weights + 48)};
        for (int m = 0; m < M; ++m) {
            int32_t four;
            __builtin_memcpy(&four, x + m * static_cast<int>(kTileRows), 4);
            const int8x16_t in = vreinterpretq_s8_s32(vdupq_n_s32(four));
            for (int c = 0; c < 4; ++c) acc[m][c] = vdotq_s32(acc[m][c], w[c], in);
        }
    }
    for (int m = 0; m < M; ++m) {
        for (int c = 0; c < 4; ++c) vst1q_s32(sums + m * static_cast<int>(kPanelCols) + 4 * c, acc[m][c]);
    }
}

#include "simd_mvm.inc"

}  // namespace

void neon_dot_mvm(const ColumnMvm& m) { mvm_by_panels(m); }

void neon_dot_matmul(const Matmul& m, uint8_t* scratch) { matmul(m, scratch); }

}  // namespace sidra::engine
