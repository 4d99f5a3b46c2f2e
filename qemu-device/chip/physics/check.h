// SPDX-License-Identifier: MIT
// Checks parameters against the range of a model.
#ifndef SIDRA_PHYSICS_CHECK_H
#define SIDRA_PHYSICS_CHECK_H

namespace sidra::physics {

// Throws std::invalid_argument that names the parameter, its value and the range, unless low <= value <= high. NaN is
// refused.
void check_range(const char* parameter, double value, double low, double high);

}  // namespace sidra::physics

#endif
