// SPDX-License-Identifier: MIT
// VECTOR: vector programs. A unit is a group of rows or, if the program can be divided so, a block of columns of them.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "job.h"
#include "vector_unit.h"

namespace sidra::chip {
namespace {

// Makes dimension `inner` of the iteration space, and the dimension outside it, one long dimension, if all operands
// allow it: dimension `inner` then has it, and the outer one has size 1.
bool join(VectorPlan& plan, uint32_t outer, uint32_t inner) {
    uint32_t(&size)[4] = plan.size;
    const uint64_t joined = uint64_t{size[outer]} * size[inner];
    if (joined > SIDRA_VECTOR_SIZE_MAX) return false;
    const auto operands = std::span(plan.operands).first(plan.operand_count);
    for (const VectorPlan::Operand& o : operands) {
        const bool joins =
            size[outer] == 1 || size[inner] == 1 || o.grid.stride(outer) == o.grid.stride(inner) * size[inner];
        if (!joins) return false;
    }
    for (VectorPlan::Operand& o : operands) {
        if (size[inner] == 1) o.grid.move(outer, inner);
        else o.grid.leave(outer);
    }
    size[inner] = static_cast<uint32_t>(joined);
    size[outer] = 1;
    return true;
}

// Joins dimensions, so that rows become long and are found quickly. Rows keep their numbers; columns join only if the
// program does not depend on theirs.
void join_dimensions(VectorPlan& plan, bool columns) {
    for (const VectorPlan::Operand& o : std::span(plan.operands).first(plan.operand_count))
        if (o.indexed) return;
    uint32_t inner = columns ? 3 : 2;
    for (uint32_t outer = inner; outer-- > 0;) {
        if (join(plan, outer, inner)) continue;
        // What could not join becomes the neighbour of `inner`, so that the next one may join it.
        inner--;
        if (inner == outer) continue;
        for (VectorPlan::Operand& o : std::span(plan.operands).first(plan.operand_count)) o.grid.move(outer, inner);
        plan.size[inner] = std::exchange(plan.size[outer], 1);
    }
}

// What the preparation of a packet finds out. It depends on nothing but these words of the packet, program and
// operands.
struct Prepared {
    sidra_cmd_vector packet;
    Operands operands;

    ProgramCache::Decoded program;
    VectorPlan plan;
    bool serial_units;
    uint32_t units;
    UnitLoad unit_load;
    uint64_t unit_work;
    uint64_t elements, cost;

    std::span<const sidra_operand> arrays() const { return std::span(operands).first(packet.operand_count); }
    // Whether it is what the packet needs, with what memory holds now.
    Fault compare(const Env& env, const sidra_cmd_vector& v, bool* same) const {
        const std::span code = program.code(env.kernels);
        *same = false;
        if (code.empty() || code.size() != v.instructions || packet.operand_count != v.operand_count ||
            packet.program != v.program || packet.operands != v.operands ||
            !std::equal(std::begin(v.size), std::end(v.size), packet.size))
            return {};
        const Range at(Space::kDevice, v.program, code.size_bytes());
        if (Fault fault = env.programs->compare(at, code.data(), same)) return fault;
        if (!*same || v.operand_count == 0) return {};
        return env.tables->compare({Space::kDevice, v.operands, arrays().size_bytes()}, operands.data(), same);
    }
};

// The packets that a thread has prepared lately. Networks run the same ones again and again, at the same addresses.
Prepared& prepared_place(const sidra_cmd_vector& v) {
    constexpr unsigned kPlacesLog2 = 6;
    static thread_local std::array<std::unique_ptr<Prepared>, 1u << kPlacesLog2> places;
    uint64_t hash = v.program;
    for (const uint64_t word : {v.operands, uint64_t{v.size[2]} << 32 | v.size[3]})
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15 ^ word;
    std::unique_ptr<Prepared>& place = places[hash * 0xd6e8feb86659fd93 >> (64 - kPlacesLog2)];
    if (!place) place = std::make_unique<Prepared>();
    return *place;
}

Fault prepare(const Env& env, const sidra_cmd_vector& v, Prepared& to) {
    to.program = {};
    Instructions instructions;
    if (Fault fault =
            read_program(env, v.program, v.instructions, v.operands, v.operand_count, &instructions, &to.operands))
        return fault;
    to.packet = v;
    const std::span program(instructions.data(), v.instructions);
    const std::span arrays = to.arrays();
    ProgramCache& programs = this_program_cache();
    vector::Traits traits;
    if (const auto verdict = programs.verify(program, arrays, &traits)) return program_fault(verdict);
    if (const auto verdict = vector::verify_space(arrays, v.size, traits)) return program_fault(verdict);

    VectorPlan& plan = to.plan;
    plan_vector(arrays, v.size, traits, &plan);
    to.serial_units = traits.in_order;
    join_dimensions(plan, !traits.whole_rows && !traits.by_column);
    find_steps(&plan);

    const VectorLoad load = vector_load(plan);
    const uint64_t cols = plan.size[3], cost = std::max(traits.cost, 1u);
    const uint64_t rows = uint64_t{plan.size[0]} * plan.size[1] * plan.size[2];
    uint64_t block = cols;
    if (!traits.whole_rows && cols > kVectorBlockCols) {
        block = std::min(kVectorUnitCost / cost, kVectorUnitBytes / 2 / load.bytes);
        if (load.strided) block = std::min(block, kUnitMax.pieces / 4 / load.strided);
        block = std::min(std::max(block / kVectorBlockCols * kVectorBlockCols, kVectorBlockCols), cols);
    }
    const uint64_t group = unit_rows(load, block, cost, rows);
    plan.unit_rows = static_cast<uint32_t>(group);
    plan.unit_cols = static_cast<uint32_t>(block);
    plan.across = block == cols ? 1 : static_cast<uint32_t>((cols + block - 1) / block);
    const uint64_t units = (group == rows ? 1 : (rows + group - 1) / group) * plan.across;
    if (units > UINT32_MAX) return program_fault({SIDRA_PROGRAM_SIZE});
    to.units = static_cast<uint32_t>(units);
    to.unit_load = unit_load(load, plan, group, block, cost);
    to.unit_work = group * block * cost / kVectorCostsPerNs + group * load.pieces * 5 + 1;
    to.elements = rows * cols;
    to.cost = to.elements * cost;

    Operands planned = to.operands;
    take_strides(plan, planned);
    to.program = programs.decode(env, std::span(planned).first(v.operand_count));
    return {};
}

Fault vector_prepare(const Env& env, Job& job) {
    const sidra_cmd_vector& v = job.cmd.vector;
    if (v.hdr.flags || v.hdr.pad || v.reserved) return {SIDRA_FAULT_FIELD};
    Prepared& prepared = prepared_place(v);
    bool same;
    if (Fault fault = prepared.compare(env, v, &same)) return fault;
    if (!same)
        if (Fault fault = prepare(env, v, prepared)) return fault;

    prepared.program.copy(prepared.arrays(), &job.program);
    job.vector = prepared.plan;
    job.serial_units = prepared.serial_units;
    job.units = prepared.units;
    job.unit_load = prepared.unit_load;
    job.unit_work = prepared.unit_work;
    job.cost = vec_cost(prepared.cost, env.clock_level);
    job.work.vec_elements = prepared.elements;
    return {};
}

Fault vector_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const VectorPlan& plan = job.vector;
    const uint64_t all_rows = uint64_t{plan.size[0]} * plan.size[1] * plan.size[2];
    const uint32_t first_row = index / plan.across * plan.unit_rows;
    const uint32_t first_col = index % plan.across * plan.unit_cols;
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(plan.unit_rows, all_rows - first_row));
    const uint32_t cols = std::min(plan.unit_cols, plan.size[3] - first_col);
    return VectorUnit(env, plan, job.program, job.cmd.vector.param, worker).run({first_row, rows, first_col, cols});
}

}  // namespace

const Operation kVectorOperation = {SIDRA_HW_ENGINE_VEC, vector_prepare, nullptr, vector_unit};

}  // namespace sidra::chip
