// SPDX-License-Identifier: MIT
// Operands and results of each opcode of a vector program, as uapi/sidra_vector.h describes them.
#ifndef SIDRA_TESTS_VECTOR_OPCODES_H
#define SIDRA_TESTS_VECTOR_OPCODES_H

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "sidra_vector.h"

namespace sidra::vector_reference {

struct Opcode {
    uint8_t op;
    // One letter each. Registers: f, i (s32), x (either type; all x of an instruction have one); capital letters: must
    // be a vector register; u: an s32 that is the same for the whole row. Destination - : none; R, N: a scalar register
    // with an f32, an s32, reduced from vectors.
    char destination;
    std::string_view sources;
    bool memory = false;   // uses an operand
    bool integer = false;  // whose type is an integer type or bool
    uint32_t cost = 1;
};

std::span<const Opcode> opcodes();

// Null if there is no such opcode.
const Opcode* find_opcode(uint8_t op);

inline bool is_vector_register(uint8_t source) { return source < SIDRA_VECTOR_S(0); }
inline bool is_scalar_register(uint8_t source) { return source >= SIDRA_VECTOR_S(0) && source < SIDRA_VECTOR_PARAM(0); }
inline bool is_load(uint8_t op) { return op == SIDRA_VECTOR_OP_LOAD || op == SIDRA_VECTOR_OP_LOAD_INT; }
inline bool is_store(uint8_t op) { return op == SIDRA_VECTOR_OP_STORE || op == SIDRA_VECTOR_OP_STORE_INT; }
inline bool is_gather(uint8_t op) { return op == SIDRA_VECTOR_OP_GATHER || op == SIDRA_VECTOR_OP_GATHER_INT; }
inline bool is_scatter(uint8_t op) { return op == SIDRA_VECTOR_OP_SCATTER || op == SIDRA_VECTOR_OP_SCATTER_INT; }
inline bool is_reduction(uint8_t op) {
    return op >= SIDRA_VECTOR_OP_REDUCE_SUM && op <= SIDRA_VECTOR_OP_REDUCE_MIN_INT;
}

// Runs for all columns: a vector destination, a vector that is stored, a reduction, or a SCATTER.
inline bool is_vector_instruction(const sidra_vector_instruction& in) {
    if (is_store(in.op)) return is_vector_register(in.a);
    return is_scatter(in.op) || is_reduction(in.op) || is_vector_register(in.dst);
}

// Bytes of an element; 0 if there is no such type.
uint32_t type_size(uint8_t type);

}  // namespace sidra::vector_reference

#endif
