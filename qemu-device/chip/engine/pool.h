// SPDX-License-Identifier: MIT
// Pooling as engines compute it: what the windows of a POOL have in common, and where their pixels are.
#ifndef SIDRA_CHIP_ENGINE_POOL_H
#define SIDRA_CHIP_ENGINE_POOL_H

#include <cstddef>
#include <cstdint>

namespace sidra::engine {

// Combines the pixels of each window, for each channel, as struct sidra_cmd_pool defines it. The output overlaps no
// pixel.
struct PoolWindows {
    uint8_t op;    // enum sidra_pool_op
    uint8_t type;  // enum sidra_cmd_type, one that the operation takes
    uint32_t channels;
    uint32_t windows;
    // Channel 0 of every pixel that is inside the image, in the order of the kernel, window after window; window w has
    // those from begin[w] to before begin[w + 1], at least one.
    const uint8_t* const* pixels;
    const uint32_t* begin;
    const int32_t* numbers;  // ARGMAX: of each pixel, in the image
    void* out;
    size_t out_stride;  // bytes between windows
    uint32_t kernel;    // AVERAGE_ALL: the divisor
};

}  // namespace sidra::engine

#endif
