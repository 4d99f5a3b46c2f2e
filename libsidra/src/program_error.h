// SPDX-License-Identifier: MIT
// Why a vector program, its operands or its sizes are refused, in words: by the library, or by the chip with a fault.
#ifndef SIDRA_PROGRAM_ERROR_H
#define SIDRA_PROGRAM_ERROR_H

#include <cstdint>
#include <span>
#include <string>

#include "sidra_vector.h"
#include "status.h"
#include "verify.h"

namespace sidra {

// error: enum sidra_program_error, or any other number.
const char* program_error_text(uint32_t error);  // "the opcode does not exist"
const char* program_error_hint(uint32_t error);  // what the user can do

// For the address of a fault with the cause PROGRAM: "instruction 3, operand 1: ...", and what to do.
std::string program_fault_text(uint64_t address);
const char* program_fault_hint(uint64_t address);

// INVALID_ARGUMENT of a call; `subject` names the program ("program 4, ") or is empty.
[[gnu::cold]] sidra_status refuse_program(const char* call, const std::string& subject,
                                          std::span<const sidra_vector_instruction> code,
                                          const vector::Verdict& verdict);

}  // namespace sidra

#endif
