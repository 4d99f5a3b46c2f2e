// SPDX-License-Identifier: MIT
#include "program_cache.h"

#include <algorithm>
#include <cstring>

#include "vector_unit.h"

namespace sidra::chip {

ProgramCache::Shape ProgramCache::shape_of(std::span<const sidra_operand> operands) {
    constexpr unsigned kBits = 4;  // of an operand: the first one with its address, and whether its stride is 0
    static_assert(SIDRA_VECTOR_OPERANDS_MAX <= 8 && SIDRA_VECTOR_OPERANDS_MAX * kBits <= 32);
    Shape shape{vector::operand_classes(operands), 0};
    for (const sidra_operand& o : operands) {
        uint32_t first = 0;
        while (operands[first].addr != o.addr) first++;
        shape.more = shape.more << kBits | first << 1 | (o.stride[3] == 0);
    }
    return shape;
}

ProgramCache::Entry& ProgramCache::entry_of(std::span<const sidra_vector_instruction> program) {
    uint64_t hash = 0;
    for (const sidra_vector_instruction& i : program) {
        uint64_t words[2];
        static_assert(sizeof words == sizeof i);
        std::memcpy(words, &i, sizeof words);
        hash = ((hash ^ words[0]) * 0x9e3779b97f4a7c15 ^ words[1]) * 0xd6e8feb86659fd93;
        hash ^= hash >> 32;
    }
    std::unique_ptr<Entry>& entry = entries_[hash % entries_.size()];
    if (!entry) entry = std::make_unique<Entry>();
    return *entry;
}

vector::Verdict ProgramCache::verify(std::span<const sidra_vector_instruction> program,
                                     std::span<const sidra_operand> operands, const vector::Packet& packet,
                                     vector::Traits* prologue, vector::Traits* traits) {
    Entry& entry = entry_of(program);
    const Shape shape = shape_of(operands);
    last_ = &entry;
    if (entry.instructions == program.size() && entry.operands == operands.size() && entry.verified == shape &&
        entry.packet == packet && std::memcmp(entry.code.data(), program.data(), program.size_bytes()) == 0) {
        *prologue = entry.before;
        *traits = entry.traits;
        return vector::verify_operands(operands, packet, *prologue, *traits);
    }
    const auto verdict = vector::verify(program, operands, packet, prologue, traits);
    if (verdict) return verdict;
    std::copy(program.begin(), program.end(), entry.code.begin());
    entry.instructions = program.size();
    entry.operands = operands.size();
    entry.packet = packet;
    entry.verified = shape;
    entry.before = *prologue;
    entry.traits = *traits;
    entry.kernels = nullptr;
    return {};
}

void ProgramCache::decode(const Env& env, std::span<const sidra_operand> operands, engine::VectorProgram* prologue,
                          engine::VectorProgram* decoded) {
    Entry& entry = *last_;
    const Shape shape = shape_of(operands);
    const size_t first = entry.packet.prologue;
    if (entry.kernels != &env.kernels || entry.decoded != shape) {
        const std::span code = std::span(entry.code).first(entry.instructions);
        if (first) chip::decode(env, code.first(first), operands, entry.packet, entry.before, &entry.prologue);
        chip::decode(env, code.subspan(first), operands, entry.packet, entry.traits, &entry.program);
        entry.kernels = &env.kernels;
        entry.decoded = shape;
    }
    const auto copy = [&](const engine::VectorProgram& from, engine::VectorProgram* to) {
        *to = from;
        for (size_t n = 0; n < operands.size(); n++) to->extent[n] = operands[n].extent;
    };
    if (first) copy(entry.prologue, prologue);
    copy(entry.program, decoded);
}

}  // namespace sidra::chip
