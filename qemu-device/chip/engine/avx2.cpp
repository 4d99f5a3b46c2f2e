// SPDX-License-Identifier: MIT
// The AVX2 kernels. Their MVM widens both sides to 16 bits: vpmaddwd is exact where vpmaddubsw would saturate.
#include "avx_vnni.h"
#include "numerics.h"
#include "simd_avx2.h"
#include "tables.h"

#include "simd.inc"

namespace sidra::engine {
namespace {

using Input = int16_t;
// As many as there are registers for. One vector takes as long as reading the weights, so it reads adjacent lines.
template <int M>
constexpr uint32_t kBlockCols = M == 1 ? 32 : (M == 2 ? 16 : 8);

inline Input prepare(uint8_t x) { return x; }

inline bool column_offset(const int8_t*, uint32_t, int32_t*) { return false; }

template <int M>
inline void multiply(const int8_t* weights, const Input* x, uint32_t groups, int32_t* sums) {
    constexpr int kBlocks = kBlockCols<M> / 8;
    __m256i acc[M][kBlocks][2];  // 4 columns each, rows 0 + 1 and rows 2 + 3 apart
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kBlocks; ++i) acc[m][i][0] = acc[m][i][1] = _mm256_setzero_si256();
    for (uint32_t g = 0; g < groups; ++g, weights += 256, x += 4) {
        __m256i in[M];
        for (int m = 0; m < M; ++m) {
            int64_t four;
            __builtin_memcpy(&four, x + m * static_cast<int>(kTileRows), 8);
            in[m] = _mm256_set1_epi64x(four);
        }
        for (int i = 0; i < kBlocks; ++i) {
            const auto* const from = reinterpret_cast<const __m128i*>(weights + i * 32);
            const __m256i w0 = _mm256_cvtepi8_epi16(_mm_load_si128(from));
            const __m256i w1 = _mm256_cvtepi8_epi16(_mm_load_si128(from + 1));
            for (int m = 0; m < M; ++m) {
                acc[m][i][0] = _mm256_add_epi32(acc[m][i][0], _mm256_madd_epi16(w0, in[m]));
                acc[m][i][1] = _mm256_add_epi32(acc[m][i][1], _mm256_madd_epi16(w1, in[m]));
            }
        }
    }
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kBlocks; ++i) {
            // columns 0 1 4 5, 2 3 6 7
            const __m256i pairs = _mm256_hadd_epi32(acc[m][i][0], acc[m][i][1]);
            _mm256_store_si256(reinterpret_cast<__m256i*>(sums + m * static_cast<int>(kPanelCols) + i * 8),
                               _mm256_permute4x64_epi64(pairs, 0xd8));
        }
}

#include "simd_mvm.inc"

}  // namespace

constinit const Kernels kAvx2Kernels = {{"avx2", SIDRA_CHIP_ENGINE_AVX2, 4, false, 60, 40, 80},
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
                                        &kSenseAvx2};
constinit const Kernels kAvxVnniKernels = {{"avx-vnni", SIDRA_CHIP_ENGINE_AVX_VNNI, 4, false, 120, 40, 160},
                                           avx_vnni_mvm,
                                           quantize_u8,
                                           bias_u8,
                                           scale,
                                           decode_vector,
                                           run_vector,
                                           avx_vnni_matmul,
                                           pool_windows,
                                           pair_levels,
                                           pack,
                                           &kSenseAvx2};

}  // namespace sidra::engine
