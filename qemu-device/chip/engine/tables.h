// SPDX-License-Identifier: MIT
// The kernels in this build; private to engine/. find() checks which of them this CPU supports.
#ifndef SIDRA_CHIP_ENGINE_TABLES_H
#define SIDRA_CHIP_ENGINE_TABLES_H

#include "kernels.h"

namespace sidra::engine {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;  // AVX2, and products with vpdpbusd
extern const Kernels kAvx512Kernels;
extern const Kernels kAmxKernels;  // AVX-512, and products by tiles
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;     // any ARMv8
extern const Kernels kNeonDotKernels;  // with the dot product instructions
#endif

}  // namespace sidra::engine

#endif
