// SPDX-License-Identifier: MIT
// math.inc for one number at a time.
#ifndef SIDRA_PHYSICS_MATH_SCALAR_H
#define SIDRA_PHYSICS_MATH_SCALAR_H

#include <cmath>
#include <cstdint>

namespace sidra::physics {
namespace {

inline int32_t bits(float x) { return __builtin_bit_cast(int32_t, x); }
inline float number(int32_t x) { return __builtin_bit_cast(float, x); }
inline float to_float(int32_t x) { return static_cast<float>(x); }
inline float root(float x) { return std::sqrt(x); }

}  // namespace
}  // namespace sidra::physics

#include "math.inc"

#endif
