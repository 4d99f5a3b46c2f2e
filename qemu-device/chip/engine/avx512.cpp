// SPDX-License-Identifier: MIT
#include "avx512.h"

#include "amx.h"

#include "numerics.h"
#include "simd_avx512.h"
#include "tables.h"

#include "simd.inc"

namespace sidra::engine {
namespace {

struct AmxTiles {
    static void multiply(const MatmulBlock& c, size_t rows, size_t cols, bool a_signed, bool b_signed) {
        static_assert(kPanel == 64 && W == 16);
        amx_multiply_panel({c.a, c.a_row, c.b, reinterpret_cast<int32_t*>(c.out), c.out_row / 4,
                            static_cast<uint32_t>(rows), static_cast<uint32_t>(cols),
                            static_cast<uint32_t>(divided_up(c.words, W)), a_signed, b_signed, c.resume});
    }
};

void amx_matmul(const Matmul& m, uint8_t* scratch) {
    constexpr uint32_t kFewRows = 4;  // so few are faster without tiles
    // Tiles need rows of a; one that is transposed is packed by columns.
    const bool by_columns = m.a_row == 1 && m.a_col != 1;
    if (is_float(m.a_type) || m.rows <= kFewRows || by_columns) return matmul(m, scratch);
    multiply_matrices<IntegerSums<false>, AmxTiles>(m, scratch);
    amx_release();
}

}  // namespace

constinit const Kernels kAvx512Kernels = {{"avx512", SIDRA_CHIP_ENGINE_AVX512, 6, true, 250, 80, 300},
                                          avx512_mvm,
                                          quantize_u8,
                                          bias_u8,
                                          scale,
                                          decode_vector,
                                          run_vector,
                                          matmul,
                                          pool_windows,
                                          pair_levels,
                                          pack,
                                          &kSenseAvx512};
constinit const Kernels kAmxKernels = {{"amx", SIDRA_CHIP_ENGINE_AMX, 32, true, 1000, 80, 600},
                                       amx_mvm,
                                       quantize_u8,
                                       bias_u8,
                                       scale,
                                       decode_vector,
                                       run_vector,
                                       amx_matmul,
                                       pool_windows,
                                       pair_levels,
                                       pack,
                                       &kSenseAvx512};

}  // namespace sidra::engine
