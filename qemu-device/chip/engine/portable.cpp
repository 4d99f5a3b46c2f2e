// SPDX-License-Identifier: MIT
#include "portable.h"

#include "numerics.h"
#include "simd_portable.h"

#define SIDRA_SIMD_PROGRAMS_ONLY  // and products of matrices, and pooling
#include "simd.inc"

namespace sidra::engine {

void portable_decode_vector(const sidra_vector_instruction* program, size_t count, const sidra_operand* operands,
                            size_t operand_count, VectorProgram* decoded) {
    decode_vector(program, count, operands, operand_count, decoded);
}

VectorEnd portable_run_vector(const VectorRows& call, uint8_t* scratch, int64_t* bad) {
    return run_vector(call, scratch, bad);
}

void portable_matmul(const Matmul& m, uint8_t* scratch) { matmul(m, scratch); }

void portable_pool_windows(const PoolWindows& p) { pool_windows(p); }

}  // namespace sidra::engine
