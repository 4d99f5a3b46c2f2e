// SPDX-License-Identifier: MIT
// The products of the AVX-VNNI kernels, which are otherwise those of AVX2; private to it.
#ifndef SIDRA_CHIP_ENGINE_AVX_VNNI_H
#define SIDRA_CHIP_ENGINE_AVX_VNNI_H

#include "kernels.h"

namespace sidra::engine {

void avx_vnni_mvm(const ColumnMvm& m);
void avx_vnni_matmul(const Matmul& m, uint8_t* scratch);

}  // namespace sidra::engine

#endif
