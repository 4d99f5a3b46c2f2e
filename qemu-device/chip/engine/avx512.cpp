// SPDX-License-Identifier: MIT
#include "avx512.h"

#include "amx.h"

#include "engines.h"
#include "numerics.h"
#include "simd_avx512.h"

#include "simd.inc"

namespace sidra::engine {

constinit const Engine kAvx512Engine = {"avx512",    SIDRA_CHIP_ENGINE_AVX512,
                                        avx512_mvm,  quantize_u8,
                                        bias_u8,     scale,
                                        vec,         pool,
                                        transpose,   decode_vector,
                                        run_vector,  matmul,
                                        pair_levels, pack};
constinit const Engine kAmxEngine = {
    "amx",     SIDRA_CHIP_ENGINE_AMX, amx_mvm,    quantize_u8, bias_u8,     scale, vec, pool,
    transpose, decode_vector,         run_vector, matmul,      pair_levels, pack};

}  // namespace sidra::engine
