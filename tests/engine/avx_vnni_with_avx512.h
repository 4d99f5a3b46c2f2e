// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_ENGINE_AVX_VNNI_WITH_AVX512_H
#define SIDRA_TESTS_ENGINE_AVX_VNNI_WITH_AVX512_H

#include "kernels.h"

namespace sidra::engine {

void avx_vnni_mvm_with_avx512(const ColumnMvm& m);
void avx_vnni_matmul_with_avx512(const Matmul& m, uint8_t* scratch);

}  // namespace sidra::engine

#endif
