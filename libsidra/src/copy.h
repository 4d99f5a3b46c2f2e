// SPDX-License-Identifier: MIT
// Copies inside a context.
#ifndef SIDRA_COPY_H
#define SIDRA_COPY_H

#include <cstdint>

#include "stream.h"

namespace sidra {

// The packet that copies `rows` rows whose sizes and strides were validated.
sidra_status make_copy(const char* call, const sidra_context* context, const sidra_ref& dst, uint64_t dst_stride,
                       const sidra_ref& src, uint64_t src_stride, uint64_t row_bytes, uint32_t rows, sidra_cmd* result);

}  // namespace sidra

#endif
