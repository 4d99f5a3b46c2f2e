// SPDX-License-Identifier: MIT
// Integer products with AMX tiles (Intel, from Sapphire Rapids on): 16 x 64 bytes times 64 x 16 bytes at once.
#ifndef SIDRA_CHIP_ENGINE_AMX_H
#define SIDRA_CHIP_ENGINE_AMX_H

#include "engine.h"

namespace sidra::engine {

// Whether CPU and kernel have them; asks the kernel for the permission of this process.
bool amx_permitted();

void amx_mvm(const ColumnMvm& m);

}  // namespace sidra::engine

#endif
