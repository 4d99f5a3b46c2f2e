// SPDX-License-Identifier: MIT
#include "numerics.h"
#include "peer_vector_loops.h"
#include "sidra_hw.h"
#include "simd_portable.h"

#define SIDRA_SIMD_FUNCTIONS_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

#include "peer_vector.inc"

}  // namespace
}  // namespace sidra::engine

namespace sidra::bench {

constinit const VectorLoops kPortableVectorLoops = engine::loops("portable");

}  // namespace sidra::bench
