// SPDX-License-Identifier: MIT
// What one element of a vector program is computed with: f32 functions as qemu-device/chip/engine/numerics.h lists
// them, conversions, random bits. Written from the specification alone, and in the plainest way.
#ifndef SIDRA_TESTS_VECTOR_ARITHMETIC_H
#define SIDRA_TESTS_VECTOR_ARITHMETIC_H

#include <array>
#include <cstdint>

namespace sidra::vector_reference {

float maximum(float a, float b);
float minimum(float a, float b);

float exponential(float x);
float logarithm(float x);
float erf(float x);
float tanh(float x);
float sigmoid(float x);
float silu(float x);
float gelu(float x);
float gelu_tanh(float x);
float sine(float x);
float cosine(float x);

// To integers of at most 64 bits: saturates to [low, high]; NaN becomes 0.
int64_t to_integer(double integral, int64_t low, int64_t high);
float round_to_even(float x);

// Bits of an f32 that leaves a register.
uint32_t visible_bits(float x);
float from_f16(uint16_t bits);
uint16_t to_f16(float x);
float from_bf16(uint16_t bits);
uint16_t to_bf16(float x);

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace sidra::vector_reference

#endif
