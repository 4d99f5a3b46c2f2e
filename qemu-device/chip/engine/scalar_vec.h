// SPDX-License-Identifier: MIT
#ifndef SIDRA_CHIP_ENGINE_SCALAR_VEC_H
#define SIDRA_CHIP_ENGINE_SCALAR_VEC_H

#include "engine.h"

namespace sidra::engine::scalar {

void vec(const Vec& v);

}  // namespace sidra::engine::scalar

#endif
