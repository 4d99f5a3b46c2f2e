// SPDX-License-Identifier: MIT
#if defined(__x86_64__)
#include "numerics.h"
#include "peer_vector_loops.h"
#include "sidra_hw.h"
#include "simd_avx2.h"

#define SIDRA_SIMD_FUNCTIONS_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

#include "peer_vector.inc"

}  // namespace
}  // namespace sidra::engine

namespace sidra::bench {

constinit const VectorLoops kAvx2VectorLoops = engine::loops("AVX2");

}  // namespace sidra::bench
#endif
