// SPDX-License-Identifier: MIT
// Parts of the AVX-512 engine; private to it.
#ifndef SIDRA_CHIP_ENGINE_AVX512_H
#define SIDRA_CHIP_ENGINE_AVX512_H

#include "kernels.h"

namespace sidra::engine {

void avx512_mvm(const ColumnMvm& m);

}  // namespace sidra::engine

#endif
