// SPDX-License-Identifier: MIT
// The rules for vector programs, their operands and their iteration space (uapi/sidra_vector.h, uapi/sidra_cmd.h,
// docs/device.md "Vector programs"). Pure functions: libsidra calls them before it submits a program, and the chip
// before it executes one.
#ifndef SIDRA_CHIP_VECTOR_VERIFY_H
#define SIDRA_CHIP_VECTOR_VERIFY_H

#include <array>
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

// Operands by slot: first those of the packet's table, then SUMS, CODES and INPUT.
inline constexpr uint32_t kSlots = SIDRA_VECTOR_OPERANDS_MAX + 3;
enum Slot : uint32_t { kSums = SIDRA_VECTOR_OPERANDS_MAX, kCodes, kInput };
// Of an instruction's field `operand`; kSlots or more: no such operand.
constexpr uint32_t slot(uint8_t operand) {
    if (operand < SIDRA_VECTOR_OPERANDS_MAX) return operand;
    return operand >= SIDRA_OPERAND_SUMS ? kSums + (operand - SIDRA_OPERAND_SUMS) : kSlots;
}

// What a packet gives to its programs besides the operands of its table.
struct Packet {
    uint8_t first = 0;    // operands below this number belong to the packet itself
    size_t prologue = 0;  // instructions of the prologue
    // Types, or kAbsent.
    static constexpr uint8_t kAbsent = 0xff;
    uint8_t sums = kAbsent;
    uint8_t codes = kAbsent, input = kAbsent;  // of a prologue
    bool operator==(const Packet&) const = default;

    // The operand of a slot behind the table: its elements are adjacent, and it has no address.
    sidra_operand operand(uint32_t slot) const;
};

// What verify() learns about a program.
struct Traits {
    bool whole_rows = false;  // cannot be divided by columns
    bool in_order = false;    // rows must be computed in ascending order
    bool by_column = false;   // depends on the number of a row or column
    uint32_t cost = 0;        // of one column: the sum of all vector instructions

    uint16_t loaded = 0, stored = 0;  // slots, as bits
    uint16_t gathered = 0;            // operands of GATHER and SCATTER
    uint16_t scalar = 0;              // operands of scalar loads and stores
    uint16_t columns = 0;             // operands of all other loads and stores
    // How many GATHERs and SCATTERs access each operand.
    std::array<uint8_t, SIDRA_VECTOR_OPERANDS_MAX> reaches{};

    uint16_t used() const { return loaded | stored; }
};

// Verifies a program with its operands. `cost` includes the operands' strides.
Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               Traits* traits);
// Verifies a prologue and the program behind it (`program` contains both), and what they learn from `packet`.
Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               const Packet& packet, Traits* prologue, Traits* traits);

// For callers that verify one program with many operands: as long as these classes and the packet are the same, so are
// verify()'s verdict and traits, apart from what verify_operands() verifies, and, in a program with SCATTER, equal
// addresses.
uint64_t operand_classes(std::span<const sidra_operand> operands);
// The part of verify() that is about each operand alone.
Verdict verify_operands(std::span<const sidra_operand> operands, const Packet& packet, const Traits& prologue,
                        const Traits& traits);

// The most columns that a row may have if the program needs whole rows.
uint32_t columns_max(std::span<const sidra_operand> operands, const Traits& traits);

using Sizes = uint32_t[SIDRA_OPERAND_DIMS];  // of an iteration space

// Verifies the iteration space, and that the operands that a program uses stay inside the address space and do not
// overlap. `traits` and `operands` have passed verify().
Verdict verify_space(std::span<const sidra_operand> operands, const Sizes& size, const Traits& traits);

// The bytes of an operand between the first and the last one that a program uses. The operand has passed
// verify_space().
struct Extent {
    uint64_t first, end;
    bool meets(const Extent& other) const { return first < other.end && other.first < end; }
};
Extent extent(const sidra_operand& operand, uint32_t number, const Sizes& size, const Traits& traits);
// Verifies an operand that belongs to a packet itself: it is only read, without index.
Verdict verify_factor(const sidra_operand& operand, uint8_t number, const Sizes& size, Extent* extent);

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
