// SPDX-License-Identifier: MIT
#include "peer_vector.h"

#include "engine.h"
#include "peer_vector_loops.h"

namespace sidra::bench {

const VectorLoops& vector_loops() {
#if defined(__x86_64__)
    if (engine::find(SIDRA_CHIP_ENGINE_AVX512) != nullptr) return kAvx512VectorLoops;
    if (engine::find(SIDRA_CHIP_ENGINE_AVX2) != nullptr) return kAvx2VectorLoops;
    return kPortableVectorLoops;
#elif defined(__aarch64__)
    return kNeonVectorLoops;
#else
    return kPortableVectorLoops;
#endif
}

}  // namespace sidra::bench
