// SPDX-License-Identifier: MIT
// What vector programs are measured against: functions on rows of f32, written by hand with the SIMD instructions and
// the exponential function of the chip's engines, so that only the way through the memory differs.
#ifndef SIDRA_BENCH_PEER_VECTOR_H
#define SIDRA_BENCH_PEER_VECTOR_H

#include <cstddef>

namespace sidra::bench {

struct VectorRows {
    const float* in;
    const float* residual;  // as large as `in`
    const float* factor;    // one for each column
    const float* bias;      // likewise
    float* out;
    float* scratch;  // one for each row
    size_t rows, cols;
};

using VectorFunction = void (*)(const VectorRows&);

struct VectorLoops {
    const char* name;
    // In one loop over the rows, and with a pass over the whole array for each operation.
    struct Pair {
        VectorFunction fused, unfused;
    };
    Pair gelu_residual;  // gelu(in + bias) + residual
    Pair softmax;
    Pair layer_norm;
};

inline constexpr float kLayerNormEpsilon = 1e-5F;

// The best ones for this CPU.
const VectorLoops& vector_loops();

}  // namespace sidra::bench

#endif
