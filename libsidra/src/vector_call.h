// SPDX-License-Identifier: MIT
// Calls of vector programs.
#ifndef SIDRA_VECTOR_CALL_H
#define SIDRA_VECTOR_CALL_H

#include <span>

#include "operands.h"
#include "vector_program.h"

namespace sidra {

// A call of a program of the stream's context.
struct ProgramCall {
    const VectorProgram* program;  // of kind kVector
    std::span<const CallOperand> operands;
    uint32_t size[SIDRA_OPERAND_DIMS];
    uint32_t param[4];
    uint32_t cookie;
};

// Checks everything but the values of indices, and queues the packet. The stream's handle was checked.
sidra_status call_program(const char* call, sidra_stream* stream, const ProgramCall& program_call);

}  // namespace sidra

#endif
