// SPDX-License-Identifier: MIT
// Products with vpdpbusd on processors that have it without AVX-512.
#include "avx_vnni.h"

#include "numerics.h"
#define SIDRA_SIMD_VNNI
#include "simd_avx2.h"

#define SIDRA_SIMD_MATMUL_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

using Input = uint8_t;
template <int>
constexpr uint32_t kBlockCols = 16;

inline Input prepare(uint8_t x) { return x; }

inline bool column_offset(const int8_t*, uint32_t, int32_t*) { return false; }

template <int M>
inline void multiply(const int8_t* weights, const Input* x, uint32_t groups, int32_t* sums) {
    __m256i acc[M][2];  // 8 columns each
    for (int m = 0; m < M; ++m) acc[m][0] = acc[m][1] = _mm256_setzero_si256();
    for (uint32_t g = 0; g < groups; ++g, weights += 256, x += 4) {
        const __m256i w0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights));
        const __m256i w1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights + 32));
        for (int m = 0; m < M; ++m) {
            int32_t four;
            __builtin_memcpy(&four, x + m * static_cast<int>(kTileRows), 4);
            const __m256i in = _mm256_set1_epi32(four);
            acc[m][0] = dot_bytes(acc[m][0], in, w0);
            acc[m][1] = dot_bytes(acc[m][1], in, w1);
        }
    }
    for (int m = 0; m < M; ++m) {
        auto* const to = reinterpret_cast<__m256i*>(sums + m * static_cast<int>(kPanelCols));
        _mm256_store_si256(to, acc[m][0]);
        _mm256_store_si256(to + 1, acc[m][1]);
    }
}

#include "simd_mvm.inc"

}  // namespace

void avx_vnni_mvm(const ColumnMvm& m) { mvm_by_panels(m); }

void avx_vnni_matmul(const Matmul& m, uint8_t* scratch) { matmul(m, scratch); }

}  // namespace sidra::engine
