// SPDX-License-Identifier: MIT
// The operands of calls of vector programs: from those of the user to those of a packet.
#ifndef SIDRA_OPERANDS_H
#define SIDRA_OPERANDS_H

#include <array>
#include <span>

#include "sidra_vector.h"
#include "stream.h"
#include "vector_program.h"
#include "verify.h"

namespace sidra {

using Operands = std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>;

// The operands in messages.
inline constexpr const char* kOperands[SIDRA_VECTOR_OPERANDS_MAX] = {"operands[0]", "operands[1]", "operands[2]",
                                                                     "operands[3]", "operands[4]", "operands[5]",
                                                                     "operands[6]", "operands[7]"};

// Checks program and number of operands of a call; `kind` is what the program must be made for.
sidra_status check_program(const char* call, const sidra_stream* stream, const sidra_program& program, ProgramKind kind,
                           const sidra_vector_operand* given, uint32_t count);

// Fills in the operands of the packet, which are zero. That they lie inside their buffers is checked later:
// check_bounds().
sidra_status make_operands(const char* call, const sidra_program& program, const sidra_vector_operand* given,
                           std::span<sidra_operand> operands);

// Checks that an operand and its indices lie inside their buffers for all coordinates of `size`. The operand has passed
// verify_space() or verify_factor(), so nothing overflows here.
sidra_status check_bounds(const char* call, const sidra_program& program, const vector::Traits& traits,
                          const vector::Sizes& size, const sidra_vector_operand& given, uint32_t n,
                          const sidra_operand& operand);

// INVALID_ARGUMENT, with what is wrong with the program or its operands.
[[gnu::cold]] sidra_status refuse_call(const char* call, const sidra_program& program, const vector::Verdict& verdict);

// INVALID_ARGUMENT: an operand is stored to where `other` is, of which any row may be read at any time.
[[gnu::cold]] sidra_status refuse_overlap(const char* call, uint32_t n, const char* other);

}  // namespace sidra

#endif
