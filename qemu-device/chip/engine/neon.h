// SPDX-License-Identifier: MIT
// Parts of the NEON engine; private to it.
#ifndef SIDRA_CHIP_ENGINE_NEON_H
#define SIDRA_CHIP_ENGINE_NEON_H

#include "kernels.h"

namespace sidra::engine {

// These need the dot product instructions.
void neon_dot_mvm(const ColumnMvm& m);
void neon_dot_matmul(const Matmul& m, uint8_t* scratch);

}  // namespace sidra::engine

#endif
