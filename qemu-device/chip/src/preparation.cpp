// SPDX-License-Identifier: MIT
#include "preparation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace sidra::chip {
namespace {

using Words = std::array<uint64_t, sizeof(sidra_cmd) / 8>;

// The bits of a packet that its preparation depends on.
template <typename Packet>
constexpr Words kept_bits(size_t params) {
    std::array<uint8_t, sizeof(sidra_cmd)> bytes{};
    bytes.fill(0xff);
    std::fill_n(bytes.begin() + offsetof(sidra_cmd_header, cookie), sizeof(uint32_t), uint8_t{0});
    std::fill_n(bytes.begin() + params, sizeof(Packet::param), uint8_t{0});
    return std::bit_cast<Words>(bytes);
}
constexpr Words kVectorBits = kept_bits<sidra_cmd_vector>(offsetof(sidra_cmd_vector, param));
constexpr Words kMatmulBits = kept_bits<sidra_cmd_matmul>(offsetof(sidra_cmd_matmul, param));
constexpr Words kLayerBits = kept_bits<sidra_cmd_layer>(offsetof(sidra_cmd_layer, param));

const Words& kept_bits(const sidra_cmd& cmd) {
    switch (cmd.hdr.opcode) {
        case SIDRA_CMD_VECTOR:
            return kVectorBits;
        case SIDRA_CMD_MATMUL:
            return kMatmulBits;
        default:
            return kLayerBits;
    }
}

bool alike(const sidra_cmd& a, const sidra_cmd& b) {
    const Words& kept = kept_bits(a);
    uint64_t different = 0;
    for (size_t i = 0; i < kept.size(); i++) different |= (a.raw[i] ^ b.raw[i]) & kept[i];
    return different == 0;
}

// Places for two packets each, of which the first one is the one that was used last.
struct Places {
    static constexpr unsigned kLog2 = 6;
    using Pair = std::array<std::shared_ptr<Preparation>, 2>;
    std::array<Pair, 1u << kLog2> pairs;

    Pair& of(const sidra_cmd& cmd) {
        // Addresses and sizes, or the address of a pattern.
        const uint64_t sum = cmd.raw[1] * 0x9e3779b97f4a7c15 + cmd.raw[2] * 0xd6e8feb86659fd93 +
                             cmd.raw[3] * 0xc2b2ae3d27d4eb4f + cmd.raw[4] * 0xa0761d6478bd642f;
        return pairs[sum >> (64 - kLog2)];
    }
};

}  // namespace

Fault Preparation::read(const Env& env, const sidra_cmd& cmd, uint32_t instruction_count, uint32_t operands_in_table) {
    packet = cmd;
    instructions = instruction_count;
    operand_count = operands_in_table;
    return read_program(env, cmd.vector.program, instructions, cmd.vector.operands, operand_count, &code, &operands);
}

Fault Preparation::compare(const Env& env, bool* same) const {
    static_assert(offsetof(sidra_cmd_matmul, program) == offsetof(sidra_cmd_vector, program) &&
                  offsetof(sidra_cmd_layer, program) == offsetof(sidra_cmd_vector, program) &&
                  offsetof(sidra_cmd_matmul, operands) == offsetof(sidra_cmd_vector, operands) &&
                  offsetof(sidra_cmd_layer, operands) == offsetof(sidra_cmd_vector, operands));
    const auto compare = [same](PageWindow& window, uint64_t at, const void* with, uint64_t bytes) -> Fault {
        if (!*same || bytes == 0) return {};
        return window.compare({Space::kDevice, at, bytes}, with, same);
    };
    *same = true;
    if (Fault fault = compare(*env.programs, packet.vector.program, code.data(), program().size_bytes())) return fault;
    if (Fault fault = compare(*env.tables, packet.vector.operands, operands.data(), arrays().size_bytes()))
        return fault;
    if (packet.hdr.opcode != SIDRA_CMD_LAYER) return {};
    return compare(*env.tables, packet.layer.pattern, &pattern, sizeof pattern);
}

Fault prepare(const Env& env, Job& job, const Preparer& preparer) {
    static thread_local Places places;
    const sidra_cmd& cmd = job.cmd;
    Places::Pair& pair = places.of(cmd);
    const auto made_for_it = [&](const Preparation* p) {
        return p && p->kernels == &env.kernels && p->clock_level == env.clock_level && alike(cmd, p->packet);
    };
    if (!made_for_it(pair[0].get())) std::swap(pair[0], pair[1]);
    Preparation* p = pair[0].get();
    bool suits = made_for_it(p);
    if (suits)
        if (Fault fault = p->compare(env, &suits)) return fault;
    if (suits && preparer.suits)
        if (Fault fault = preparer.suits(env, job, *p, &suits)) return fault;
    if (!suits) {
        if (!p || p->shared()) p = (pair[0] = std::make_shared<Preparation>()).get();
        p->kernels = nullptr;
        if (Fault fault = preparer.make(env, job, *p)) return fault;
        p->clock_level = env.clock_level;
        p->kernels = &env.kernels;
    }
    job.preparation = p;
    job.units = p->units;
    job.serial_units = p->serial_units;
    job.unit_load = p->unit_load;
    job.unit_work = p->unit_work;
    job.cost = p->cost;
    job.work.vec_elements = p->elements;
    return {};
}

}  // namespace sidra::chip
