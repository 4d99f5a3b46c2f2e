// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>

#include "finders.h"

namespace sidra::physics {
namespace {

constexpr uint32_t kLanes = 1, kVectorsHigh = 4, kColumnsWide = 4;
typedef double V;
inline V load(const double* from) { return *from; }
inline void store(double* to, V value) { *to = value; }
inline V splat(double value) { return value; }
inline V less_product(V a, V b, V from) { return std::fma(-a, b, from); }
inline V over_root(V a, V b) { return a / std::sqrt(b); }

}  // namespace
}  // namespace sidra::physics

#define SIDRA_MAKE_FINDER make_scalar_finder
#include "wires.inc"
