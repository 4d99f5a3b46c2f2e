// SPDX-License-Identifier: MIT
// The rules for vector programs, their operands and their iteration space (uapi/sidra_vector.h, uapi/sidra_cmd.h,
// docs/device.md "Vector programs"). Pure functions: libsidra calls them before it submits a program, and the chip
// before it executes one.
#ifndef SIDRA_CHIP_VECTOR_VERIFY_H
#define SIDRA_CHIP_VECTOR_VERIFY_H

#include <cstdint>
#include <span>

#include "sidra_cmd.h"
#include "sidra_vector.h"

namespace sidra::vector {

struct Verdict {
    sidra_program_error error = SIDRA_PROGRAM_OK;
    uint8_t instruction = SIDRA_PROGRAM_NONE;
    uint8_t operand = SIDRA_PROGRAM_NONE;

    explicit operator bool() const { return error != SIDRA_PROGRAM_OK; }
    uint64_t address() const { return SIDRA_PROGRAM_FAULT(error, instruction, operand); }
};

// What verify() learns about a program.
struct Traits {
    bool whole_rows = false;  // cannot be divided by columns
    bool in_order = false;    // rows must be computed in ascending order
    bool by_column = false;   // depends on the number of a row or column
    uint32_t cost = 0;        // of one column: the sum of all vector instructions

    uint8_t loaded = 0, stored = 0;  // operands, as bits
    uint8_t gathered = 0;            // operands of GATHER and SCATTER
    uint8_t scalar = 0;              // operands of scalar loads and stores
    uint8_t columns = 0;             // operands of all other loads and stores
};

// Verifies a program with its operands. `cost` includes the operands' strides.
Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               Traits* traits);

// Verifies the iteration space, and that operands stay inside the address space and do not overlap. `traits` and
// `operands` have passed verify().
Verdict verify_space(std::span<const sidra_operand> operands, const uint32_t (&size)[SIDRA_OPERAND_DIMS],
                     const Traits& traits);

constexpr uint32_t element_size(uint32_t type) {
    switch (type) {
        case SIDRA_TYPE_U8:
        case SIDRA_TYPE_S8:
        case SIDRA_TYPE_BOOL:
            return 1;
        case SIDRA_TYPE_S16:
        case SIDRA_TYPE_F16:
        case SIDRA_TYPE_BF16:
            return 2;
        case SIDRA_TYPE_S32:
        case SIDRA_TYPE_F32:
            return 4;
        default:
            return 8;
    }
}

// Kinds of sources.
constexpr bool is_vector(uint8_t source) { return source < 0x10; }
constexpr bool is_scalar(uint8_t source) { return source >= 0x10 && source < 0x20; }
constexpr bool is_param(uint8_t source) { return source >= 0x20 && source < 0x24; }
constexpr bool is_imm(uint8_t source) { return source == SIDRA_VECTOR_IMM(0) || source == SIDRA_VECTOR_IMM(1); }

enum class Kind : uint8_t {
    kNone,
    kLoad,       // d = operand
    kStore,      // operand = a
    kGather,     // d = operand[a]
    kScatter,    // operand[b] = a
    kElement,    // d from a, b, c of the same column
    kScan,       // along the row
    kReduction,  // scalar d from all columns
};
enum class Type : uint8_t { kNone, kFloat, kInt, kAny };

// What an opcode needs.
struct Rule {
    Kind kind = Kind::kNone;
    Type dst = Type::kNone;  // kAny: of the sources that are kAny
    Type a = Type::kNone, b = Type::kNone, c = Type::kNone;
    uint32_t cost = 1;
};
// kNone for an unknown opcode.
const Rule& rule(uint8_t op);

}  // namespace sidra::vector

#endif
