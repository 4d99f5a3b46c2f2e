// SPDX-License-Identifier: MIT
// VECTOR: vector programs. A unit is a group of rows or, if the program can be divided so, a block of columns of them.
#include <algorithm>
#include <utility>

#include "preparation.h"
#include "vector_unit.h"

namespace sidra::chip {
namespace {

// Of all elements of a unit. The costliest programs reach it with fewer columns than units usually have.
constexpr uint64_t kCostMax = SIDRA_VECTOR_ROW_COST_MAX;
static_assert(kCostMax <= kUnitMax.operations * kVectorCostsPerOperation);

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

Fault make(const Env& env, Job& job, Preparation& to) {
    const sidra_cmd_vector& v = job.cmd.vector;
    if (Fault fault = to.read(env, job.cmd, v.instructions, v.operand_count)) return fault;
    const std::span arrays = to.arrays();
    ProgramCache& programs = this_program_cache();
    vector::Traits none, traits;
    if (const auto verdict = programs.verify(to.program(), arrays, {}, &none, &traits)) return program_fault(verdict);
    if (const auto verdict = vector::verify_space(arrays, v.size, traits)) return program_fault(verdict);

    VectorPlan& plan = to.vector;
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
    if (!traits.whole_rows && block * cost > kCostMax) block = kCostMax / cost / 64 * 64;
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
    to.cost = vec_cost(to.elements * cost, env.clock_level);

    Operands planned = to.operands;
    take_strides(plan, planned);
    programs.decode(env, std::span(planned).first(v.operand_count), nullptr, &to.decoded);
    return {};
}

Fault vector_prepare(const Env& env, Job& job) {
    const sidra_cmd_vector& v = job.cmd.vector;
    if (v.hdr.flags || v.hdr.pad || v.reserved) return {SIDRA_FAULT_FIELD};
    return prepare(env, job, {make});
}

Fault vector_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const VectorPlan& plan = job.preparation->vector;
    const uint64_t all_rows = uint64_t{plan.size[0]} * plan.size[1] * plan.size[2];
    VectorUnit unit(env, plan, job.preparation->decoded, job.cmd.vector.param, worker);
    if (job.units == 1) return unit.run({0, static_cast<uint32_t>(all_rows), 0, plan.size[3]});
    const uint32_t first_row = index / plan.across * plan.unit_rows;
    const uint32_t first_col = index % plan.across * plan.unit_cols;
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(plan.unit_rows, all_rows - first_row));
    const uint32_t cols = std::min(plan.unit_cols, plan.size[3] - first_col);
    return unit.run({first_row, rows, first_col, cols});
}

}  // namespace

const Operation kVectorOperation = {SIDRA_HW_ENGINE_VEC, vector_prepare, nullptr, vector_unit};

}  // namespace sidra::chip
