// SPDX-License-Identifier: MIT
// The loops of peer_vector.h by instruction set; private to peer_vector*.cpp.
#ifndef SIDRA_BENCH_PEER_VECTOR_LOOPS_H
#define SIDRA_BENCH_PEER_VECTOR_LOOPS_H

#include "peer_vector.h"

namespace sidra::bench {

#if defined(__x86_64__)
extern const VectorLoops kAvx2VectorLoops, kAvx512VectorLoops;
#elif defined(__aarch64__)
extern const VectorLoops kNeonVectorLoops;
#endif
extern const VectorLoops kPortableVectorLoops;

}  // namespace sidra::bench

#endif
