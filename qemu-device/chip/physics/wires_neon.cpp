// SPDX-License-Identifier: MIT
#include <arm_neon.h>

#include <cmath>
#include <cstdint>

#include "finders.h"

namespace sidra::physics {
namespace {

constexpr uint32_t kLanes = 2, kVectorsHigh = 4, kColumnsWide = 6;
typedef float64x2_t V;
inline V load(const double* from) { return vld1q_f64(from); }
inline void store(double* to, V value) { vst1q_f64(to, value); }
inline V splat(double value) { return vdupq_n_f64(value); }
inline V sum(V a, V b) { return vaddq_f64(a, b); }
inline V less_product(V a, V b, V from) { return vfmsq_f64(from, a, b); }
inline V over_root(V a, V b) { return vdivq_f64(a, vsqrtq_f64(b)); }

}  // namespace
}  // namespace sidra::physics

#define SIDRA_MAKE_FINDER make_neon_finder
#include "wires.inc"
