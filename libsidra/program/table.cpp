// SPDX-License-Identifier: MIT
#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace sidra::program {
namespace {

using enum Type;

// Types are f, i and x (either). v before it: a vector register; s: as a destination a scalar register, as a source
// what is the same in all columns.
constexpr Slot none, vnone{kNone, Place::kVector}, f{kFloat}, i{kInt}, x{kEither};
constexpr Slot vf{kFloat, Place::kVector}, vi{kInt, Place::kVector};
constexpr Slot sf{kFloat, Place::kNotVector}, si{kInt, Place::kNotVector};
constexpr bool kOperand = true;

constexpr Opcode kOpcodes[] = {
    {SIDRA_VECTOR_OP_LOAD, "load", f, {}, kOperand},
    {SIDRA_VECTOR_OP_LOAD_INT, "load_int", i, {}, kOperand},
    {SIDRA_VECTOR_OP_STORE, "store", none, {f}, kOperand},
    {SIDRA_VECTOR_OP_STORE_INT, "store_int", none, {i}, kOperand},
    {SIDRA_VECTOR_OP_GATHER, "gather", vf, {i}, kOperand},
    {SIDRA_VECTOR_OP_GATHER_INT, "gather_int", vi, {i}, kOperand},
    {SIDRA_VECTOR_OP_SCATTER, "scatter", vnone, {f, i}, kOperand},
    {SIDRA_VECTOR_OP_SCATTER_INT, "scatter_int", vnone, {i, i}, kOperand},

    {SIDRA_VECTOR_OP_MOVE, "move", x, {x}},
    {SIDRA_VECTOR_OP_MOVE_INT, "move_int", i, {i}},
    {SIDRA_VECTOR_OP_SELECT, "select", x, {i, x, x}},
    {SIDRA_VECTOR_OP_BITS, "bits", i, {f}},
    {SIDRA_VECTOR_OP_FROM_BITS, "from_bits", f, {i}},

    {SIDRA_VECTOR_OP_ADD, "add", f, {f, f}},
    {SIDRA_VECTOR_OP_SUB, "sub", f, {f, f}},
    {SIDRA_VECTOR_OP_MUL, "mul", f, {f, f}},
    {SIDRA_VECTOR_OP_FMA, "fma", f, {f, f, f}},
    {SIDRA_VECTOR_OP_DIV, "div", f, {f, f}},
    {SIDRA_VECTOR_OP_MAX, "max", f, {f, f}},
    {SIDRA_VECTOR_OP_MIN, "min", f, {f, f}},
    {SIDRA_VECTOR_OP_NEG, "neg", f, {f}},
    {SIDRA_VECTOR_OP_ABS, "abs", f, {f}},
    {SIDRA_VECTOR_OP_SQRT, "sqrt", f, {f}},
    {SIDRA_VECTOR_OP_RSQRT, "rsqrt", f, {f}},
    {SIDRA_VECTOR_OP_FLOOR, "floor", f, {f}},
    {SIDRA_VECTOR_OP_CEIL, "ceil", f, {f}},
    {SIDRA_VECTOR_OP_ROUND, "round", f, {f}},
    {SIDRA_VECTOR_OP_TRUNC, "trunc", f, {f}},

    {SIDRA_VECTOR_OP_EXP, "exp", f, {f}},
    {SIDRA_VECTOR_OP_LOG, "log", f, {f}},
    {SIDRA_VECTOR_OP_ERF, "erf", f, {f}},
    {SIDRA_VECTOR_OP_TANH, "tanh", f, {f}},
    {SIDRA_VECTOR_OP_SIGMOID, "sigmoid", f, {f}},
    {SIDRA_VECTOR_OP_SILU, "silu", f, {f}},
    {SIDRA_VECTOR_OP_GELU, "gelu", f, {f}},
    {SIDRA_VECTOR_OP_GELU_TANH, "gelu_tanh", f, {f}},
    {SIDRA_VECTOR_OP_SIN, "sin", f, {f}},
    {SIDRA_VECTOR_OP_COS, "cos", f, {f}},

    {SIDRA_VECTOR_OP_LT, "lt", i, {f, f}},
    {SIDRA_VECTOR_OP_LE, "le", i, {f, f}},
    {SIDRA_VECTOR_OP_EQ, "eq", i, {f, f}},
    {SIDRA_VECTOR_OP_NE, "ne", i, {f, f}},
    {SIDRA_VECTOR_OP_LT_INT, "lt_int", i, {i, i}},
    {SIDRA_VECTOR_OP_LE_INT, "le_int", i, {i, i}},
    {SIDRA_VECTOR_OP_EQ_INT, "eq_int", i, {i, i}},
    {SIDRA_VECTOR_OP_NE_INT, "ne_int", i, {i, i}},

    {SIDRA_VECTOR_OP_ADD_INT, "add_int", i, {i, i}},
    {SIDRA_VECTOR_OP_SUB_INT, "sub_int", i, {i, i}},
    {SIDRA_VECTOR_OP_MUL_INT, "mul_int", i, {i, i}},
    {SIDRA_VECTOR_OP_MAX_INT, "max_int", i, {i, i}},
    {SIDRA_VECTOR_OP_MIN_INT, "min_int", i, {i, i}},
    {SIDRA_VECTOR_OP_AND, "and", i, {i, i}},
    {SIDRA_VECTOR_OP_OR, "or", i, {i, i}},
    {SIDRA_VECTOR_OP_XOR, "xor", i, {i, i}},
    {SIDRA_VECTOR_OP_SHL, "shl", i, {i, i}},
    {SIDRA_VECTOR_OP_SHR, "shr", i, {i, i}},
    {SIDRA_VECTOR_OP_SHR_UNSIGNED, "shr_unsigned", i, {i, i}},

    {SIDRA_VECTOR_OP_TO_INT, "to_int", i, {f}},
    {SIDRA_VECTOR_OP_TO_INT_TRUNC, "to_int_trunc", i, {f}},
    {SIDRA_VECTOR_OP_TO_FLOAT, "to_float", f, {i}},

    {SIDRA_VECTOR_OP_RANDOM, "random", vi, {si, si, si}},
    {SIDRA_VECTOR_OP_SCAN, "scan", vf, {vf}},
    {SIDRA_VECTOR_OP_SCAN_INT, "scan_int", vi, {vi}},

    {SIDRA_VECTOR_OP_REDUCE_SUM, "reduce_sum", sf, {vf}},
    {SIDRA_VECTOR_OP_REDUCE_DOT, "reduce_dot", sf, {vf, f}},
    {SIDRA_VECTOR_OP_REDUCE_MAX, "reduce_max", sf, {vf}},
    {SIDRA_VECTOR_OP_REDUCE_MIN, "reduce_min", sf, {vf}},
    {SIDRA_VECTOR_OP_REDUCE_ARGMAX, "reduce_argmax", si, {vf}},
    {SIDRA_VECTOR_OP_REDUCE_ARGMIN, "reduce_argmin", si, {vf}},
    {SIDRA_VECTOR_OP_REDUCE_SUM_INT, "reduce_sum_int", si, {vi}},
    {SIDRA_VECTOR_OP_REDUCE_MAX_INT, "reduce_max_int", si, {vi}},
    {SIDRA_VECTOR_OP_REDUCE_MIN_INT, "reduce_min_int", si, {vi}},
};
static_assert(std::ranges::is_sorted(kOpcodes, {}, &Opcode::op));

}  // namespace

std::span<const Opcode> opcodes() { return kOpcodes; }

const Opcode* find(uint8_t op) {
    const auto* found = std::ranges::lower_bound(kOpcodes, op, {}, &Opcode::op);
    return found != std::end(kOpcodes) && found->op == op ? found : nullptr;
}

const Opcode* find(std::string_view mnemonic) {
    const auto* found = std::ranges::find(kOpcodes, mnemonic, &Opcode::mnemonic);
    return found != std::end(kOpcodes) ? found : nullptr;
}

size_t Opcode::source_count() const {
    return static_cast<size_t>(std::ranges::count_if(sources, [](const Slot& s) { return s.type != kNone; }));
}

bool Opcode::is_vector(const sidra_vector_instruction& instruction) const {
    if (destination.place != Place::kAny) return true;  // reductions, too
    return program::is_vector(destination.type == kNone ? instruction.a : instruction.dst);
}

void Types::begin_pass() {
    vectors_ = {};
    earlier_ = scalars_;
}

void Types::add(const sidra_vector_instruction& instruction) {
    if (instruction.flags & SIDRA_VECTOR_PASS) begin_pass();
    const Opcode* opcode = find(instruction.op);
    if (opcode == nullptr || opcode->destination.type == kNone) return;
    const Type type = opcode->destination.type == kEither ? either(*opcode, instruction) : opcode->destination.type;
    if (is_vector(instruction.dst)) vectors_[instruction.dst] = type;
    else if (is_scalar(instruction.dst)) scalars_[instruction.dst - SIDRA_VECTOR_S(0)] = type;
}

Type Types::source(const Opcode& opcode, const sidra_vector_instruction& next, size_t n) const {
    return opcode.sources[n].type == kEither ? either(opcode, next) : opcode.sources[n].type;
}

Type Types::either(const Opcode& opcode, const sidra_vector_instruction& next) const {
    for (size_t n = 0; n < opcode.sources.size(); ++n) {
        const uint8_t field = sources(next)[n];
        if (opcode.sources[n].type != kEither) continue;
        if (field == SIDRA_VECTOR_COLUMN || field == SIDRA_VECTOR_ROW) return kInt;
        Type type = kNone;
        if (is_vector(field)) type = vectors_[field];
        if (is_scalar(field)) type = (opcode.is_vector(next) ? earlier_ : scalars_)[field - SIDRA_VECTOR_S(0)];
        if (type != kNone) return type;
    }
    return kFloat;
}

namespace {

struct NamedOperand {
    std::string_view name;
    uint8_t operand;
};
constexpr NamedOperand kNamedOperands[] = {
    {"sums", SIDRA_OPERAND_SUMS}, {"codes", SIDRA_OPERAND_CODES}, {"input", SIDRA_OPERAND_INPUT}};

}  // namespace

std::string operand_name(uint8_t operand) {
    for (const NamedOperand& named : kNamedOperands)
        if (named.operand == operand) return std::string(named.name);
    return fmt::format("o{}", operand);
}

std::optional<uint8_t> named_operand(std::string_view name) {
    for (const NamedOperand& named : kNamedOperands)
        if (named.name == name) return named.operand;
    return std::nullopt;
}

}  // namespace sidra::program
