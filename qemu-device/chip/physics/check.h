// SPDX-License-Identifier: MIT
// Refuses parameters that a model is not made for.
#ifndef SIDRA_PHYSICS_CHECK_H
#define SIDRA_PHYSICS_CHECK_H

namespace sidra::physics {

// std::invalid_argument that names the parameter, its value and the range, unless low <= value <= high (so not for
// NaN).
void check_range(const char* parameter, double value, double low, double high);

}  // namespace sidra::physics

#endif
