// SPDX-License-Identifier: MIT
// What assembler and disassembler know about instructions.
#ifndef SIDRA_PROGRAM_TABLE_H
#define SIDRA_PROGRAM_TABLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sidra_vector.h"

namespace sidra::program {

enum class Type : uint8_t {
    kNone,
    kFloat,   // f32
    kInt,     // s32
    kEither,  // one type, common to all sources of kEither and the destination
};

enum class Place : uint8_t { kAny, kVector, kNotVector };

// A destination or source; kNone: the instruction has none. A destination of kVector makes a vector instruction even of
// one that has none.
struct Slot {
    Type type = Type::kNone;
    Place place = Place::kAny;
};

struct Opcode {
    uint8_t op;
    std::string_view mnemonic;
    Slot destination;
    std::array<Slot, 3> sources;
    bool operand = false;

    size_t source_count() const;
    // Whether such an instruction runs for each column.
    bool is_vector(const sidra_vector_instruction& instruction) const;
};

// All opcodes, in ascending order.
std::span<const Opcode> opcodes();
// Null: there is no such opcode.
const Opcode* find(uint8_t op);
const Opcode* find(std::string_view mnemonic);

// Fields dst, a, b and c.
constexpr bool is_vector(uint8_t field) { return field < SIDRA_VECTOR_S(0); }
constexpr bool is_scalar(uint8_t field) { return !is_vector(field) && field < SIDRA_VECTOR_PARAM(0); }
constexpr bool is_imm(uint8_t field) { return field == SIDRA_VECTOR_IMM(0) || field == SIDRA_VECTOR_IMM(1); }
constexpr std::array<uint8_t, 3> sources(const sidra_vector_instruction& i) { return {i.a, i.b, i.c}; }

// Types of the registers after some instructions: a literal in the place of a source of either type has the type of the
// instruction's other sources.
class Types {
   public:
    void begin_pass();
    void add(const sidra_vector_instruction& instruction);

    // What the source `n` of the next instruction is taken for: kFloat or kInt.
    Type source(const Opcode& opcode, const sidra_vector_instruction& next, size_t n) const;

   private:
    using Registers = std::array<Type, SIDRA_VECTOR_REGISTERS>;  // kNone: not written

    Type either(const Opcode& opcode, const sidra_vector_instruction& next) const;

    Registers vectors_{}, scalars_{};
    Registers earlier_{};  // scalars of earlier passes, which vector instructions read
};

// The name of an operand in a program's text: o0, sums...; a number that has no name gives one that is none.
std::string operand_name(uint8_t operand);
// The operand with this name, if it is not one with a number.
std::optional<uint8_t> named_operand(std::string_view name);

}  // namespace sidra::program

#endif
