// SPDX-License-Identifier: MIT
// The operands of calls of vector programs: from those of the user to those of a packet.
#ifndef SIDRA_OPERANDS_H
#define SIDRA_OPERANDS_H

#include <array>
#include <iterator>
#include <span>

#include "sidra_vector.h"
#include "stream.h"
#include "structs.h"
#include "vector_program.h"
#include "verify.h"

namespace sidra {

using Operands = std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>;

// An operand and its parts in messages.
struct OperandName {
    const char* operand;
    const char* at;
    const char* index;
};
#define SIDRA_OPERAND_NAME(n) \
    { "operands[" #n "]", "operands[" #n "].at", "operands[" #n "].index" }
inline constexpr OperandName kOperandNames[] = {SIDRA_OPERAND_NAME(0), SIDRA_OPERAND_NAME(1), SIDRA_OPERAND_NAME(2),
                                                SIDRA_OPERAND_NAME(3), SIDRA_OPERAND_NAME(4), SIDRA_OPERAND_NAME(5),
                                                SIDRA_OPERAND_NAME(6), SIDRA_OPERAND_NAME(7)};
#undef SIDRA_OPERAND_NAME
static_assert(std::size(kOperandNames) == SIDRA_VECTOR_OPERANDS_MAX);

// An operand that the user gave, with the type and extent that it shall have.
struct CallOperand {
    const sidra_vector_operand* array;
    const OperandName* name;
    uint32_t type;
    uint32_t extent;
};
inline CallOperand call_operand(const sidra_vector_operand* operands, uint32_t n) {
    return {&operands[n], &kOperandNames[n], raw_value(operands[n].type), operands[n].extent};
}

// Checks program and number of operands of a call; `kind` is what the program must be made for.
sidra_status check_program(const char* call, const VectorProgram& program, ProgramKind kind,
                           const sidra_vector_operand* given, uint32_t count);

// Fills in operand `n` of the packet. That it lies inside its buffer is checked later: check_bounds().
sidra_status make_operand(const char* call, const sidra_context* context, const VectorProgram& program,
                          const CallOperand& given, uint32_t n, sidra_operand* operand);
// All operands, as the user gave them.
sidra_status make_operands(const char* call, const sidra_context* context, const VectorProgram& program,
                           const sidra_vector_operand* given, std::span<sidra_operand> operands);

// Checks that an operand and its indices lie inside their buffers for all coordinates of `size`. The operand has passed
// verify_space() or verify_factor(), so nothing overflows here.
sidra_status check_bounds(const char* call, const VectorProgram& program, const vector::Traits& traits,
                          const vector::Sizes& size, const CallOperand& given, uint32_t n,
                          const sidra_operand& operand);

// INVALID_ARGUMENT, with what is wrong with the program or its operands.
[[gnu::cold]] sidra_status refuse_call(const char* call, const VectorProgram& program, const vector::Verdict& verdict);

// INVALID_ARGUMENT: an operand is stored to where `other` is, of which any row may be read at any time.
[[gnu::cold]] sidra_status refuse_overlap(const char* call, uint32_t n, const char* other);

}  // namespace sidra

#endif
