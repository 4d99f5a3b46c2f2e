// SPDX-License-Identifier: MIT
#include "opcodes.h"

namespace sidra::vector_reference {
namespace {

#define OP(name) SIDRA_VECTOR_OP_##name

constexpr uint32_t kElements = SIDRA_VECTOR_COST_ELEMENTS, kFunction = SIDRA_VECTOR_COST_FUNCTION,
                   kSerial = SIDRA_VECTOR_COST_SERIAL;

constexpr Opcode kOpcodes[] = {
    {OP(LOAD), 'f', "", true, false},
    {OP(LOAD_INT), 'i', "", true, true},
    {OP(STORE), '-', "f", true, false},
    {OP(STORE_INT), '-', "i", true, true},
    {OP(GATHER), 'F', "i", true, false, kElements},
    {OP(GATHER_INT), 'I', "i", true, true, kElements},
    {OP(SCATTER), '-', "fi", true, false, kElements},
    {OP(SCATTER_INT), '-', "ii", true, true, kElements},
    {OP(MOVE), 'x', "x"},
    {OP(MOVE_INT), 'i', "i"},
    {OP(SELECT), 'x', "ixx"},
    {OP(BITS), 'i', "f"},
    {OP(FROM_BITS), 'f', "i"},
    {OP(ADD), 'f', "ff"},
    {OP(SUB), 'f', "ff"},
    {OP(MUL), 'f', "ff"},
    {OP(FMA), 'f', "fff"},
    {OP(DIV), 'f', "ff", false, false, SIDRA_VECTOR_COST_DIV},
    {OP(MAX), 'f', "ff"},
    {OP(MIN), 'f', "ff"},
    {OP(NEG), 'f', "f"},
    {OP(ABS), 'f', "f"},
    {OP(SQRT), 'f', "f", false, false, SIDRA_VECTOR_COST_DIV},
    {OP(RSQRT), 'f', "f", false, false, SIDRA_VECTOR_COST_RSQRT},
    {OP(FLOOR), 'f', "f"},
    {OP(CEIL), 'f', "f"},
    {OP(ROUND), 'f', "f"},
    {OP(TRUNC), 'f', "f"},
    {OP(EXP), 'f', "f", false, false, kFunction},
    {OP(LOG), 'f', "f", false, false, kFunction},
    {OP(ERF), 'f', "f", false, false, kFunction},
    {OP(TANH), 'f', "f", false, false, kFunction},
    {OP(SIGMOID), 'f', "f", false, false, kFunction},
    {OP(SILU), 'f', "f", false, false, kFunction},
    {OP(GELU), 'f', "f", false, false, kFunction},
    {OP(GELU_TANH), 'f', "f", false, false, kFunction},
    {OP(SIN), 'f', "f", false, false, kFunction},
    {OP(COS), 'f', "f", false, false, kFunction},
    {OP(LT), 'i', "ff"},
    {OP(LE), 'i', "ff"},
    {OP(EQ), 'i', "ff"},
    {OP(NE), 'i', "ff"},
    {OP(LT_INT), 'i', "ii"},
    {OP(LE_INT), 'i', "ii"},
    {OP(EQ_INT), 'i', "ii"},
    {OP(NE_INT), 'i', "ii"},
    {OP(ADD_INT), 'i', "ii"},
    {OP(SUB_INT), 'i', "ii"},
    {OP(MUL_INT), 'i', "ii"},
    {OP(MAX_INT), 'i', "ii"},
    {OP(MIN_INT), 'i', "ii"},
    {OP(AND), 'i', "ii"},
    {OP(OR), 'i', "ii"},
    {OP(XOR), 'i', "ii"},
    {OP(SHL), 'i', "ii"},
    {OP(SHR), 'i', "ii"},
    {OP(SHR_UNSIGNED), 'i', "ii"},
    {OP(TO_INT), 'i', "f"},
    {OP(TO_INT_TRUNC), 'i', "f"},
    {OP(TO_FLOAT), 'f', "i"},
    {OP(RANDOM), 'I', "uuu", false, false, kSerial},
    {OP(SCAN), 'F', "F", false, false, kSerial},
    {OP(SCAN_INT), 'I', "I", false, false, kSerial},
    {OP(REDUCE_SUM), 'R', "F"},
    {OP(REDUCE_DOT), 'R', "Ff"},
    {OP(REDUCE_MAX), 'R', "F"},
    {OP(REDUCE_MIN), 'R', "F"},
    {OP(REDUCE_ARGMAX), 'N', "F"},
    {OP(REDUCE_ARGMIN), 'N', "F"},
    {OP(REDUCE_SUM_INT), 'N', "I"},
    {OP(REDUCE_MAX_INT), 'N', "I"},
    {OP(REDUCE_MIN_INT), 'N', "I"},
};

#undef OP

}  // namespace

std::span<const Opcode> opcodes() { return kOpcodes; }

const Opcode* find_opcode(uint8_t op) {
    for (const Opcode& opcode : kOpcodes)
        if (opcode.op == op) return &opcode;
    return nullptr;
}

uint32_t type_size(uint8_t type) {
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
        case SIDRA_TYPE_S64:
            return 8;
        default:
            return 0;
    }
}

}  // namespace sidra::vector_reference
