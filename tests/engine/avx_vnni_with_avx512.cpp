// SPDX-License-Identifier: MIT
// The products of the AVX-VNNI kernels, compiled for AVX-512, which has the same instruction: so that machines without
// AVX-VNNI test them.
#include "avx_vnni_with_avx512.h"

#if defined(__x86_64__)
#define avx_vnni_mvm avx_vnni_mvm_with_avx512
#define avx_vnni_matmul avx_vnni_matmul_with_avx512
#include "avx_vnni.cpp"
#endif
