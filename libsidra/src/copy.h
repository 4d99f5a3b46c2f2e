// SPDX-License-Identifier: MIT
// Copies inside a context.
#ifndef SIDRA_COPY_H
#define SIDRA_COPY_H

#include <cstdint>

#include "stream.h"

namespace sidra {

// A copy of `rows` rows whose sizes and strides were validated.
sidra_status copy_rows(const char* call, sidra_stream* stream, const sidra_ref& dst, uint64_t dst_stride,
                       const sidra_ref& src, uint64_t src_stride, uint64_t row_bytes, uint32_t rows);

}  // namespace sidra

#endif
