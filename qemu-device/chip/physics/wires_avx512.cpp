// SPDX-License-Identifier: MIT
#include <immintrin.h>

#include <cmath>
#include <cstdint>

#include "finders.h"

namespace sidra::physics {
namespace {

constexpr uint32_t kLanes = 8, kVectorsHigh = 3, kColumnsWide = 8;
typedef __m512d V;
inline V load(const double* from) { return _mm512_loadu_pd(from); }
inline void store(double* to, V value) { _mm512_storeu_pd(to, value); }
inline V splat(double value) { return _mm512_set1_pd(value); }
inline V sum(V a, V b) { return _mm512_add_pd(a, b); }
inline V less_product(V a, V b, V from) { return _mm512_fnmadd_pd(a, b, from); }
inline V over_root(V a, V b) { return a / _mm512_maskz_sqrt_pd(0xff, b); }

}  // namespace
}  // namespace sidra::physics

#define SIDRA_MAKE_FINDER make_avx512_finder
#include "wires.inc"
