// SPDX-License-Identifier: MIT
// SORT: the first elements of each row, in order. A unit is some rows.
#include <algorithm>

#include "job.h"
#include "sort.h"
#include "verify.h"

namespace sidra::chip {
namespace {

using vector::element_size;

constexpr uint64_t kUnitOperations = 1u << 18;  // of several rows: some 200 us
constexpr uint64_t kOperationsPerNs = 1;        // estimate for slices
// What sorting an element costs besides reading it, at most: digits of its key.
constexpr uint64_t kSortOperations = 8;
static_assert(SIDRA_SORT_COLS_MAX * (1 + kSortOperations) <= kUnitMax.operations);

// One of the packet's arrays: `row` elements in each row.
Fault check_array(const sidra_cmd_sort& s, uint64_t va, uint32_t stride, uint32_t row, uint32_t type,
                  Rectangle* array) {
    const uint32_t size = element_size(type);
    if (va % size) return {SIDRA_FAULT_ALIGNMENT, va};
    if (stride % size) return {SIDRA_FAULT_ALIGNMENT, stride};
    if (stride < uint64_t{row} * size) return {SIDRA_FAULT_FIELD, stride};
    *array = Rectangle(va, stride, s.rows, uint64_t{row} * size);
    return array->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

bool meet(const Range& a, const Range& b) {
    return a.offset() < b.offset() + b.length() && b.offset() < a.offset() + a.length();
}

Fault check_fields(const sidra_cmd_sort& s) {
    if (s.flags & ~SIDRA_SORT_DESCENDING) return {SIDRA_FAULT_FIELD, s.flags};
    if (s.reserved) return {SIDRA_FAULT_FIELD, s.reserved};
    if (s.type >= SIDRA_TYPE_COUNT) return {SIDRA_FAULT_FIELD, s.type};
    const bool index_ok =
        s.indices ? s.index_type == SIDRA_TYPE_S32 || s.index_type == SIDRA_TYPE_S64 : s.index_type == 0;
    if (!index_ok) return {SIDRA_FAULT_FIELD, s.index_type};
    if (!s.values && !s.indices) return {SIDRA_FAULT_FIELD, 0};
    if (!s.values && s.values_stride) return {SIDRA_FAULT_FIELD, s.values_stride};
    if (!s.indices && s.indices_stride) return {SIDRA_FAULT_FIELD, s.indices_stride};
    if (s.rows == 0 || s.cols == 0 || s.count == 0) return {SIDRA_FAULT_FIELD, 0};
    if (s.rows > SIDRA_SORT_ROWS_MAX) return {SIDRA_FAULT_LIMIT, s.rows};
    if (s.cols > SIDRA_SORT_COLS_MAX) return {SIDRA_FAULT_LIMIT, s.cols};
    if (s.count > s.cols) return {SIDRA_FAULT_LIMIT, s.count};
    return {};
}

Fault sort_prepare(const Env& env, Job& job) {
    const sidra_cmd_sort& s = job.cmd.sort;
    if (Fault fault = check_fields(s)) return fault;
    SortPlan& plan = job.sort;
    if (Fault fault = check_array(s, s.in, s.in_stride, s.cols, s.type, &plan.in)) return fault;
    if (s.values) {
        if (Fault fault = check_array(s, s.values, s.values_stride, s.count, s.type, &plan.values)) return fault;
        if (meet(plan.values.extent(), plan.in.extent())) return {SIDRA_FAULT_FIELD, s.values};
    }
    if (s.indices) {
        if (Fault fault = check_array(s, s.indices, s.indices_stride, s.count, s.index_type, &plan.indices))
            return fault;
        if (meet(plan.indices.extent(), plan.in.extent()) ||
            (s.values && meet(plan.indices.extent(), plan.values.extent())))
            return {SIDRA_FAULT_FIELD, s.indices};
    }

    const uint64_t row_operations = s.cols + s.count * kSortOperations;
    const uint64_t rows = std::clamp<uint64_t>(std::min(kUnitOperations / row_operations, kUnitRows), 1, s.rows);
    plan.unit_rows = static_cast<uint32_t>(rows);
    job.units = (s.rows + plan.unit_rows - 1) / plan.unit_rows;
    job.unit_load = {rows * row_operations, 0, engine::sort_scratch(s.cols) + 64};
    const auto add = [&](const Rectangle& array) {
        job.unit_load.pieces += std::min(array.pieces(), rows);
        job.unit_load.scratch += Rows::scratch_of(rows, array.bytes());
    };
    add(plan.in);
    if (s.values) add(plan.values);
    if (s.indices) add(plan.indices);
    job.unit_work = job.unit_load.operations / kOperationsPerNs + job.unit_load.pieces * kPieceNs;
    job.cost = sort_cost(s.rows, s.cols, s.count, env.clock_level);
    job.work.vec_elements = uint64_t{s.rows} * s.cols;
    return {};
}

Fault sort_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_sort& s = job.cmd.sort;
    const SortPlan& plan = job.sort;
    const uint32_t first = index * plan.unit_rows, rows = std::min(plan.unit_rows, s.rows - first);
    Dma dma(env.bus, worker.tlb, env.space);
    Rows in, values, indices;
    if (Fault fault = in.map_in(dma, worker.scratch, plan.in.rows(first, rows))) return fault;
    if (s.values)
        if (Fault fault = values.map_out(dma, worker.scratch, plan.values.rows(first, rows))) return fault;
    if (s.indices)
        if (Fault fault = indices.map_out(dma, worker.scratch, plan.indices.rows(first, rows))) return fault;
    engine::Sort sort{};
    sort.in = in.data, sort.in_stride = in.stride;
    sort.values = values.data, sort.values_stride = values.stride;
    sort.indices = indices.data, sort.indices_stride = indices.stride;
    sort.rows = rows, sort.cols = s.cols, sort.count = s.count;
    sort.type = s.type, sort.index_type = s.index_type;
    sort.descending = s.flags & SIDRA_SORT_DESCENDING;
    engine::sort_rows(sort, worker.scratch.take(engine::sort_scratch(s.cols)));
    if (Fault fault = values.commit()) return fault;
    return indices.commit();
}

}  // namespace

const Operation kSortOperation = {SIDRA_HW_ENGINE_VEC, sort_prepare, nullptr, sort_unit};

}  // namespace sidra::chip
