// SPDX-License-Identifier: MIT
// The text form of vector programs (uapi/sidra_vector.h), which docs/vector-programs.md describes. Pure functions.
#ifndef SIDRA_PROGRAM_PROGRAM_TEXT_H
#define SIDRA_PROGRAM_PROGRAM_TEXT_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sidra_vector.h"

namespace sidra::program {

struct AssemblyError {
    uint32_t line, column;  // both from 1; columns are bytes
    std::string message;    // what is wrong and what to do, without the place
};

// The instructions of a program, of which the first `prologue` are its prologue.
struct Code {
    std::vector<sidra_vector_instruction> instructions;
    size_t prologue = 0;
};

// A program, or the first error of its text. What only a look at the whole program can tell
// (registers that nothing wrote, their types, the order of instructions) is not checked.
using Assembly = std::variant<Code, AssemblyError>;
Assembly assemble(std::string_view text);

// The text of any bytes, trusted or not. An instruction that the language cannot express becomes a line `.bytes` with a
// comment that says what is known of it. assemble() gives the same bytes again, if there are 1 to 64 instructions, and
// what follows a prologue begins a pass.
std::string disassemble(std::span<const sidra_vector_instruction> program, size_t prologue = 0);

}  // namespace sidra::program

#endif
