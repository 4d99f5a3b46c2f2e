// SPDX-License-Identifier: MIT
// A second verifier of vector programs, from the text of uapi/ and docs/device.md: what the chip must refuse.
#ifndef SIDRA_TESTS_VECTOR_VERIFY_H
#define SIDRA_TESTS_VECTOR_VERIFY_H

#include "reference.h"

namespace sidra::vector_reference {

struct Verdict {
    sidra_program_error why = SIDRA_PROGRAM_OK;
    uint32_t instruction = SIDRA_PROGRAM_NONE;
    uint32_t operand = SIDRA_PROGRAM_NONE;
};

// The first thing that is wrong. If several are, the chip may name another one.
Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               const Size& size);

}  // namespace sidra::vector_reference

#endif
