// SPDX-License-Identifier: MIT
#include <immintrin.h>

#include <cmath>
#include <cstdint>

#include "finders.h"

namespace sidra::physics {
namespace {

constexpr uint32_t kLanes = 4, kVectorsHigh = 2, kColumnsWide = 6;
typedef __m256d V;
inline V load(const double* from) { return _mm256_loadu_pd(from); }
inline void store(double* to, V value) { _mm256_storeu_pd(to, value); }
inline V splat(double value) { return _mm256_set1_pd(value); }
inline V sum(V a, V b) { return _mm256_add_pd(a, b); }
inline V less_product(V a, V b, V from) { return _mm256_fnmadd_pd(a, b, from); }
inline V over_root(V a, V b) { return _mm256_div_pd(a, _mm256_sqrt_pd(b)); }

}  // namespace
}  // namespace sidra::physics

#define SIDRA_MAKE_FINDER make_avx2_finder
#include "wires.inc"
