// SPDX-License-Identifier: MIT
// The rules for MATMUL and LAYER that concern their programs, operands and windows (uapi/sidra_cmd.h, docs/device.md
// "Products of matrices" and "Layers"). Pure functions, like verify.h.
#ifndef SIDRA_CHIP_VECTOR_VERIFY_PACKET_H
#define SIDRA_CHIP_VECTOR_VERIFY_PACKET_H

#include "verify.h"

namespace sidra::vector {

using Code = std::span<const sidra_vector_instruction>;
using OperandSpan = std::span<const sidra_operand>;

constexpr bool is_float(uint32_t type) {
    return type == SIDRA_TYPE_F32 || type == SIDRA_TYPE_F16 || type == SIDRA_TYPE_BF16;
}
constexpr bool is_byte(uint32_t type) { return type == SIDRA_TYPE_U8 || type == SIDRA_TYPE_S8; }

// What an operand that is stored to overlaps, if verify_space() does not refuse it: a factor, an operand of the
// prologue, or the windows.
enum Overlapped : uint8_t { kWindows = SIDRA_VECTOR_OPERANDS_MAX, kNothing };

// What is known of a MATMUL. A packet is verified in three steps: verify_factors() sets `packet`, verify() sets
// `traits`, and verify_matmul_space() verifies the rest.
struct MatmulRules {
    Sizes size;  // of the result: batch[0], batch[1], m, n
    uint32_t k;
    Packet packet{};
    Traits traits{};
    uint8_t overlapped = kNothing;

    // Of an operand: A is m x k, B is k x n, and all others are m x n.
    void size_of(uint32_t operand, Sizes& to) const {
        to[0] = size[0], to[1] = size[1];
        to[2] = operand == 1 ? k : size[2];
        to[3] = operand == 0 ? k : size[3];
    }
};
// `operands` begin with the factors.
Verdict verify_factors(OperandSpan operands, MatmulRules* rules);
Verdict verify_matmul_space(OperandSpan operands, MatmulRules* rules);

// Bytes from the first to behind the last one that windows of so many images may read; false if that is more than
// there are addresses.
bool pattern_bytes(const sidra_pattern& pattern, uint32_t images, uint64_t* bytes);

// Windows of a pattern in one direction.
struct WindowLine {
    uint32_t windows, kernel, stride, pad, dilation, pixels;

    int64_t first(uint32_t window) const { return int64_t{window} * stride - pad; }  // its first pixel
    // Finds a window without any pixel of the image.
    bool find_outside(uint32_t* window) const;
};
WindowLine window_rows(const sidra_pattern& pattern, uint32_t windows);
WindowLine window_columns(const sidra_pattern& pattern, uint32_t windows);

// The bytes of a POOL's result, from the first to the last one; UINT64_MAX if there are more.
struct PoolResult {
    uint64_t bytes;
    // A dimension whose stride is less than the `bytes` inside a step, or SIDRA_PATTERN_DIMS.
    uint32_t overlapping;
};
PoolResult pool_result(const uint64_t (&stride)[SIDRA_PATTERN_DIMS], const uint32_t (&size)[SIDRA_PATTERN_DIMS],
                       uint64_t pixel_bytes);

// What is known of a LAYER whose pattern has been verified by itself. layer_rules() sets `packet`, verify() sets the
// traits, and verify_layer_space() verifies the rest.
struct LayerRules {
    Sizes before, after;  // iteration spaces of prologue and epilogue
    Packet packet{};
    Traits prologue{}, epilogue{};
    uint8_t overlapped = kNothing;
};
LayerRules layer_rules(const sidra_pattern& pattern, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], size_t prologue,
                       uint32_t inputs, uint32_t outputs);
Verdict verify_layer_space(OperandSpan operands, const sidra_pattern& pattern, LayerRules* rules);

}  // namespace sidra::vector

#endif
