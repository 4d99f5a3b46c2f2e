// SPDX-License-Identifier: MIT
// Parts of the NEON engine; private to it.
#ifndef SIDRA_CHIP_ENGINE_NEON_H
#define SIDRA_CHIP_ENGINE_NEON_H

#include "engine.h"

namespace sidra::engine {

void neon_dot_mvm(const ColumnMvm& m);  // needs the dot product instructions

}  // namespace sidra::engine

#endif
