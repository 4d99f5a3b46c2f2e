// SPDX-License-Identifier: MIT
// Float functions of the reference engine, as defined in numerics.h; private to the scalar engine.
#ifndef SIDRA_CHIP_ENGINE_SCALAR_MATH_H
#define SIDRA_CHIP_ENGINE_SCALAR_MATH_H

#include <cstddef>
#include <cstdint>

namespace sidra::engine::scalar {

float canonical(float x);  // every NaN becomes the quiet NaN
int32_t rne(float x);      // to nearest even, saturating, NaN to 0
int32_t add_saturated(int32_t a, int32_t b);
int32_t clamp_s8(int32_t x);
int32_t clamp_u8(int32_t x);

float exp(float x);
float tanh(float x);
float sigmoid(float x);
float silu(float x);
float gelu(float x);
float gelu_tanh(float x);

float maximum(float a, float b);  // NaN if one operand is NaN
float minimum(float a, float b);
int32_t max_key(float x);  // maps floats to integers in the same order, -0 below +0, NaN lowest
int32_t min_key(float x);  // as max_key(), but NaN highest
float from_max_key(int32_t key);
float from_min_key(int32_t key);

// Sum of f(0) .. f(n - 1) in the order of numerics.h.
template <class F>
float ordered_sum(size_t n, F f) {
    float partial[32] = {};
    for (size_t i = 0; i < n; ++i) partial[i % 32] += f(i);
    for (size_t half = 16; half > 0; half /= 2) {
        for (size_t j = 0; j < half; ++j) partial[j] += partial[j + half];
    }
    return partial[0];
}

}  // namespace sidra::engine::scalar

#endif
