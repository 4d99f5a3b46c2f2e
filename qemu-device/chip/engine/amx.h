// SPDX-License-Identifier: MIT
// Integer products with AMX tiles (Intel, from Sapphire Rapids on): 16 x 64 bytes times 64 x 16 bytes at once.
#ifndef SIDRA_CHIP_ENGINE_AMX_H
#define SIDRA_CHIP_ENGINE_AMX_H

#include "kernels.h"

namespace sidra::engine {

// Whether CPU and kernel have them; asks the kernel for the permission of this process.
bool amx_permitted();

void amx_mvm(const ColumnMvm& m);

// Rows of a, packed: `steps` times 64 elements, the last ones zero. A panel of b, packed: groups of four elements of 64
// columns, as in a packed plane. out[r][c] = (resume ? out[r][c] : 0) + products, for c < cols <= 64.
struct AmxPanel {
    const uint8_t* a;
    size_t a_row;
    const uint8_t* b;
    int32_t* out;
    size_t out_row;  // elements
    uint32_t rows, cols, steps;
    bool a_signed, b_signed, resume;
};
// The caller calls amx_release() after the last panel.
void amx_multiply_panel(const AmxPanel& panel);
void amx_release();

}  // namespace sidra::engine

#endif
