// SPDX-License-Identifier: MIT
#if defined(__aarch64__)
#include "numerics.h"
#include "peer_vector_loops.h"
#include "sidra_hw.h"
#include "simd_neon.h"

#define SIDRA_SIMD_FUNCTIONS_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

#include "peer_vector.inc"

}  // namespace
}  // namespace sidra::engine

namespace sidra::bench {

constinit const VectorLoops kNeonVectorLoops = engine::loops("NEON");

}  // namespace sidra::bench
#endif
