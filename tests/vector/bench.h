// SPDX-License-Identifier: MIT
// Small packets for the tests of this folder: arrays, operands, instructions, and what is in memory afterwards.
#ifndef SIDRA_TESTS_VECTOR_BENCH_H
#define SIDRA_TESTS_VECTOR_BENCH_H

#include <bit>
#include <initializer_list>
#include <type_traits>

#include "opcodes.h"
#include "verify.h"

namespace sidra::vector_reference::test {

constexpr uint64_t kBase = 0x10000;
constexpr uint8_t kPass = SIDRA_VECTOR_PASS;

constexpr uint8_t v(int n) { return SIDRA_VECTOR_V(n); }
constexpr uint8_t s(int n) { return SIDRA_VECTOR_S(n); }
constexpr uint8_t imm(int n) { return SIDRA_VECTOR_IMM(n); }
constexpr uint8_t param(int n) { return SIDRA_VECTOR_PARAM(n); }
constexpr uint8_t kColumn = SIDRA_VECTOR_COLUMN, kRow = SIDRA_VECTOR_ROW;

inline uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
inline float f32(uint32_t x) { return std::bit_cast<float>(x); }

// The SIDRA_TYPE_ of a C++ type.
template <class T>
constexpr uint8_t type_of() {
    if constexpr (std::is_same_v<T, float>) return SIDRA_TYPE_F32;
    if constexpr (std::is_same_v<T, uint8_t>) return SIDRA_TYPE_U8;
    if constexpr (std::is_same_v<T, int8_t>) return SIDRA_TYPE_S8;
    if constexpr (std::is_same_v<T, int16_t>) return SIDRA_TYPE_S16;
    if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t>) return SIDRA_TYPE_S32;
    if constexpr (std::is_same_v<T, int64_t>) return SIDRA_TYPE_S64;
    return SIDRA_TYPE_F16;
}

struct Sources {
    uint8_t a = 0, b = 0, c = 0;
    uint32_t imm0 = 0, imm1 = 0;
    uint8_t flags = 0;
};

struct Bench {
    Size size;
    Params param{};
    std::vector<sidra_vector_instruction> program;
    std::vector<sidra_operand> operands;
    std::vector<uint8_t> bytes;

    // Places an array in memory; returns its address.
    template <class T>
    uint64_t place(const std::vector<T>& values) {
        bytes.resize((bytes.size() + 63) / 64 * 64);
        const uint64_t address = kBase + bytes.size();
        for (const T value : values) {
            const auto raw = std::bit_cast<std::array<uint8_t, sizeof(T)>>(value);
            bytes.insert(bytes.end(), raw.begin(), raw.end());
        }
        return address;
    }

    // An operand with dense rows; returns its number.
    uint8_t operand(uint64_t address, uint8_t type, bool write) {
        const uint64_t element = type_size(type);
        sidra_operand o{};
        o.addr = address;
        o.type = type;
        o.flags = write ? SIDRA_OPERAND_WRITE : 0;
        for (int d = 3; d >= 0; --d)
            o.stride[d] = d == 3 ? element : o.stride[d + 1] * size[static_cast<size_t>(d + 1)];
        operands.push_back(o);
        return static_cast<uint8_t>(operands.size() - 1);
    }
    template <class T>
    uint8_t input(const std::vector<T>& values) {
        return operand(place(values), type_of<T>(), false);
    }
    // Filled with 0xa5.
    uint8_t output(uint8_t type, uint64_t elements) {
        return operand(place(std::vector<uint8_t>(elements * type_size(type), 0xa5)), type, true);
    }

    void op(uint8_t op, uint8_t dst, Sources x = {}) {
        const uint8_t flags = program.empty() ? kPass : x.flags;
        program.push_back({op, flags, dst, 0, x.a, x.b, x.c, 0, {x.imm0, x.imm1}});
    }
    void pass(uint8_t op_, uint8_t dst, Sources x = {}) {
        x.flags = kPass;
        op(op_, dst, x);
    }
    void load(uint8_t dst, uint8_t operand, uint8_t op_ = SIDRA_VECTOR_OP_LOAD) {
        op(op_, dst);
        program.back().operand = operand;
    }
    void store(uint8_t operand, uint8_t a, uint8_t op_ = SIDRA_VECTOR_OP_STORE) {
        op(op_, 0, {.a = a});
        program.back().operand = operand;
    }

    Verdict verdict() const { return verify(program, operands, size); }

    // Throws if the packet is not valid.
    std::optional<int64_t> run() {
        if (const Verdict bad = verdict(); bad.why != SIDRA_PROGRAM_OK) throw bad;
        Memory memory(kBase, bytes);
        const auto fault = execute(program, operands, size, param, memory);
        bytes = memory.bytes();
        return fault;
    }

    template <class T>
    std::vector<T> values(uint8_t operand, size_t count) const {
        std::vector<T> found(count);
        for (size_t i = 0; i < count; ++i) {
            std::array<uint8_t, sizeof(T)> raw;
            const size_t at = operands[operand].addr - kBase + i * sizeof(T);
            for (size_t byte = 0; byte < sizeof(T); ++byte) raw[byte] = bytes.at(at + byte);
            found[i] = std::bit_cast<T>(raw);
        }
        return found;
    }
};

// One instruction on elements: the bits that it gives for sources with these bits. Types are those of the opcode;
// sources of either type are f32.
inline std::vector<uint32_t> apply(uint8_t op, std::initializer_list<std::vector<uint32_t>> sources) {
    const Opcode& opcode = *find_opcode(op);
    const auto columns = sources.begin()->size();
    Bench bench{.size = {1, 1, 1, static_cast<uint32_t>(columns)}};
    uint8_t n = 0;
    for (const auto& source : sources) {
        const bool integer = opcode.sources[n] == 'i';
        const uint8_t type = integer ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
        bench.load(v(n), bench.operand(bench.place(source), type, false),
                   integer ? SIDRA_VECTOR_OP_LOAD_INT : SIDRA_VECTOR_OP_LOAD);
        ++n;
    }
    bench.op(op, v(3), {.a = v(0), .b = v(n > 1 ? 1 : 0), .c = v(n > 2 ? 2 : 0)});
    const bool integer = opcode.destination == 'i';
    const uint8_t out = bench.output(integer ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32, columns);
    bench.store(out, v(3), integer ? SIDRA_VECTOR_OP_STORE_INT : SIDRA_VECTOR_OP_STORE);
    bench.run();
    return bench.values<uint32_t>(out, columns);
}

}  // namespace sidra::vector_reference::test

#endif
