// SPDX-License-Identifier: MIT
// Element types and strides of operands.
#ifndef SIDRA_ELEMENT_H
#define SIDRA_ELEMENT_H

#include <bit>
#include <cstdint>
#include <iterator>

#include "sidra_cmd.h"
#include "status.h"
#include "verify.h"

namespace sidra {

static_assert(SIDRA_U8 == static_cast<int>(SIDRA_TYPE_U8) && SIDRA_S8 == static_cast<int>(SIDRA_TYPE_S8) &&
              SIDRA_S32 == static_cast<int>(SIDRA_TYPE_S32) && SIDRA_F32 == static_cast<int>(SIDRA_TYPE_F32) &&
              SIDRA_S16 == static_cast<int>(SIDRA_TYPE_S16) && SIDRA_S64 == static_cast<int>(SIDRA_TYPE_S64) &&
              SIDRA_BOOL == static_cast<int>(SIDRA_TYPE_BOOL) && SIDRA_F16 == static_cast<int>(SIDRA_TYPE_F16) &&
              SIDRA_BF16 == static_cast<int>(SIDRA_TYPE_BF16));

inline constexpr uint32_t kTypeCount = SIDRA_TYPE_COUNT;
using vector::element_size;
inline const char* type_name(uint32_t type) {
    constexpr const char* kNames[] = {"U8", "S8", "S32", "F32", "S16", "S64", "BOOL", "F16", "BF16"};
    static_assert(std::size(kNames) == kTypeCount);
    return type < kTypeCount ? kNames[type] : "an unknown type";
}

// Encodes a factor for packets: zero bits for the default 1.
inline uint32_t factor_bits(float factor) {
    return factor == 0.0f || factor == 1.0f ? 0 : std::bit_cast<uint32_t>(factor);
}

inline constexpr int32_t code_min(uint32_t type) { return type == SIDRA_S8 ? -128 : 0; }
inline constexpr int32_t code_max(uint32_t type) { return type == SIDRA_S8 ? 127 : 255; }

// Returns the given stride, or the dense one; it must be a multiple of the element size and not less than a row.
inline sidra_status check_stride(const char* call, const char* name, size_t given, uint64_t row_bytes, uint32_t element,
                                 uint32_t* stride) {
    const uint64_t bytes = given != 0 ? given : row_bytes;
    if (bytes < row_bytes || bytes % element != 0 || bytes > UINT32_MAX) [[unlikely]]
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} is {}: must be a multiple of {}, at least {} (one row) and below 2^32", name, bytes, element,
                    row_bytes);
    *stride = static_cast<uint32_t>(bytes);
    return SIDRA_OK;
}

}  // namespace sidra

#endif
