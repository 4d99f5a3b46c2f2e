// SPDX-License-Identifier: MIT
// The NEON kernels for any AArch64. Their MVM widens both sides to 16 bits; neon_dot.cpp has the MVM for CPUs with dot
// products.
#include "neon.h"

#include "numerics.h"
#include "simd_neon.h"
#include "tables.h"

#include "simd.inc"

namespace sidra::engine {
namespace {

using Input = int16_t;
template <int>
constexpr uint32_t kBlockCols = 4;

inline Input prepare(uint8_t x) { return x; }

inline bool column_offset(const int8_t*, uint32_t, int32_t*) { return false; }

template <int M>
inline void multiply(const int8_t* weights, const Input* x, uint32_t groups, int32_t* sums) {
    int32x4_t acc[M][4];  // by column; the 4 rows of a group apart
    for (int m = 0; m < M; ++m) {
        for (int c = 0; c < 4; ++c) acc[m][c] = vdupq_n_s32(0);
    }
    for (uint32_t g = 0; g < groups; ++g, weights += 256, x += 4) {
        const int8x16_t w = vld1q_s8(weights);
        const int16x8_t low = vmovl_s8(vget_low_s8(w)), high = vmovl_s8(vget_high_s8(w));
        for (int m = 0; m < M; ++m) {
            const int16x4_t in = vld1_s16(x + m * static_cast<int>(kTileRows));
            acc[m][0] = vmlal_s16(acc[m][0], vget_low_s16(low), in);
            acc[m][1] = vmlal_s16(acc[m][1], vget_high_s16(low), in);
            acc[m][2] = vmlal_s16(acc[m][2], vget_low_s16(high), in);
            acc[m][3] = vmlal_s16(acc[m][3], vget_high_s16(high), in);
        }
    }
    for (int m = 0; m < M; ++m) {
        const int32x4_t low = vpaddq_s32(acc[m][0], acc[m][1]), high = vpaddq_s32(acc[m][2], acc[m][3]);
        vst1q_s32(sums + m * static_cast<int>(kPanelCols), vpaddq_s32(low, high));
    }
}

#include "simd_mvm.inc"

}  // namespace

constinit const Kernels kNeonKernels = {{"neon", SIDRA_CHIP_ENGINE_NEON, 4, false, 40, 20, 60},
                                        mvm_by_panels,
                                        quantize_u8,
                                        bias_u8,
                                        scale,
                                        decode_vector,
                                        run_vector,
                                        matmul,
                                        pool_windows,
                                        pair_levels,
                                        pack,
                                        &kSenseNeon};
constinit const Kernels kNeonDotKernels = {{"neon", SIDRA_CHIP_ENGINE_NEON, 4, false, 40, 20, 60},
                                           neon_dot_mvm,
                                           quantize_u8,
                                           bias_u8,
                                           scale,
                                           decode_vector,
                                           run_vector,
                                           neon_dot_matmul,
                                           pool_windows,
                                           pair_levels,
                                           pack,
                                           &kSenseNeon};

}  // namespace sidra::engine
