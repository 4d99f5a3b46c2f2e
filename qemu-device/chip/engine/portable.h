// SPDX-License-Identifier: MIT
// Vector programs, products of matrices and pooling without instruction set extensions, for the scalar engine.
#ifndef SIDRA_CHIP_ENGINE_PORTABLE_H
#define SIDRA_CHIP_ENGINE_PORTABLE_H

#include "matmul.h"
#include "pool.h"
#include "vector.h"

namespace sidra::engine {

void portable_decode_vector(const sidra_vector_instruction* program, size_t count, const sidra_operand* operands,
                            size_t operand_count, VectorProgram* decoded);
VectorEnd portable_run_vector(const VectorRows& call, uint8_t* scratch, int64_t* bad);
void portable_matmul(const Matmul& m, uint8_t* scratch);
void portable_pool_windows(const PoolWindows& p);

}  // namespace sidra::engine

#endif
