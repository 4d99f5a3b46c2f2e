// SPDX-License-Identifier: MIT
// PROGRAM (with REFRESH) and READBACK. A unit is the part of the rectangle inside one tile.
#include <algorithm>

#include "job.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kTileWork = 40'000;             // estimate for slices, ns per tile
constexpr uint64_t kOperationsPerCell = 16;        // UnitLoad: pulses and reads
constexpr uint64_t kAccurateTileWork = 3'000'000;  // the same at level `accurate`

// Whether the job is a PROGRAM of several tiles, which a kill of the process can interrupt. A single tile is saved
// atomically.
bool is_update(const Job& job) { return job.weights.program && !job.weights.refresh && job.units > 1; }
Update update_of(const Job& job) {
    const sidra_cmd_weights& c = job.cmd.weights;
    return {job.weights.weights->uid, c.row0, c.rows, c.col0, c.cols};
}

Fault find(const Env& env, Job& job) {
    Weights* w;
    if (Fault fault = find_weights(env, job, job.cmd.weights.weights, &w)) return fault;
    const uint32_t right = job.weights.program ? SIDRA_HW_WEIGHTS_PROGRAM : SIDRA_HW_WEIGHTS_READBACK;
    if (!(w->flags & right)) return {SIDRA_FAULT_WEIGHTS_RIGHTS, job.cmd.weights.weights};
    job.weights.weights = w;
    return {};
}

Fault weights_prepare(const Env& env, Job& job) {
    const sidra_cmd_weights& c = job.cmd.weights;
    WeightsPlan& plan = job.weights;
    plan = {};
    plan.program = c.hdr.opcode == SIDRA_CMD_PROGRAM;
    plan.refresh = plan.program && c.hdr.flags == SIDRA_CMD_PROGRAM_REFRESH;
    if ((c.hdr.flags && !plan.refresh) || c.hdr.pad || c.pad || c.reserved[0] || c.reserved[1] || c.rows == 0 ||
        c.cols == 0)
        return {SIDRA_FAULT_FIELD};
    if (plan.refresh) {
        if (c.addr || c.stride) return {SIDRA_FAULT_FIELD};
        if (c.tolerance_ppm > 1'000'000) return {SIDRA_FAULT_LIMIT, c.tolerance_ppm};
    } else {
        if (c.stride < c.cols || c.tolerance_ppm) return {SIDRA_FAULT_FIELD};
        plan.data = Rectangle(c.addr, c.stride, c.rows, c.cols);
        if (!plan.data.valid()) return {SIDRA_FAULT_LIMIT, c.addr};
    }
    if (Fault fault = find(env, job)) return fault;
    const Weights& w = *plan.weights;
    if (c.row0 >= w.rows || c.rows > w.rows - c.row0) return {SIDRA_FAULT_LIMIT, c.row0};
    if (c.col0 >= w.cols || c.cols > w.cols - c.col0) return {SIDRA_FAULT_LIMIT, c.col0};
    plan.tile_row0 = c.row0 / SIDRA_XBAR_ROWS;
    plan.tile_rows = (c.row0 + c.rows - 1) / SIDRA_XBAR_ROWS - plan.tile_row0 + 1;
    plan.tile_col0 = c.col0 / w.tile_width;
    plan.tile_cols = (c.col0 + c.cols - 1) / w.tile_width - plan.tile_col0 + 1;
    job.units = plan.tile_rows * plan.tile_cols;
    job.unit_load = {uint64_t{kXbarCells} * kOperationsPerCell, SIDRA_XBAR_ROWS, Rows::scratch_of(1, kXbarCells)};
    const bool accurate = env.array.analog() != nullptr;
    job.unit_work = plan.program && accurate ? kAccurateTileWork : kTileWork;
    const uint64_t cells = uint64_t{c.rows} * c.cols * (w.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 2 : 1);
    if (plan.refresh) {
        // Units determine the cost and the number of cells.
    } else if (plan.program) {
        if (!accurate) job.cost = program_cost(cells);  // otherwise units determine it
        job.work.programmed_cells = cells;
    } else {
        job.cost = copy_cost(uint64_t{c.rows} * c.cols);
    }
    if (is_update(job) && !env.array.begin_update(update_of(job))) return {kNotKept};
    return {};
}

Fault weights_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_weights& c = job.cmd.weights;
    const WeightsPlan& plan = job.weights;
    const Weights& w = *plan.weights;
    const uint32_t i = plan.tile_row0 + index / plan.tile_cols, j = plan.tile_col0 + index % plan.tile_cols;
    const uint32_t tile_row = i * SIDRA_XBAR_ROWS, tile_col = j * w.tile_width;
    TileBlock block{};
    block.uid = w.uid;
    block.tile = i * w.tile_cols + j;
    block.xbar = w.xbars[block.tile];
    block.encoding = w.encoding;
    block.tile_rows = w.tile_inputs(i);
    block.tile_cols = w.tile_outputs(j);
    const uint32_t row = std::max(c.row0, tile_row), col = std::max(c.col0, tile_col);
    block.row0 = row - tile_row;
    block.rows = std::min(c.row0 + c.rows, tile_row + block.tile_rows) - row;
    block.col0 = col - tile_col;
    block.cols = std::min(c.col0 + c.cols, tile_col + block.tile_cols) - col;

    Dma dma(env.bus, worker.tlb, env.space);
    const auto spend = [&](const Cost& cost) {
        job.spent_ps.fetch_add(cost.device_ps, std::memory_order_relaxed);
        job.spent_pj.fetch_add(cost.energy_pj, std::memory_order_relaxed);
    };
    if (plan.refresh) {
        CellCheck found;
        const uint32_t ppm = c.tolerance_ppm ? c.tolerance_ppm : SIDRA_CMD_REFRESH_PPM;
        if (Fault fault = env.array.refresh(block, ppm / 1e6, env.now, &found)) return fault;
        spend(found.cost);
        return {};
    }
    const Rectangle data = plan.data.part(row - c.row0, block.rows, col - c.col0, block.cols);
    if (plan.program) {
        // The weights are copied from shared memory before the check, so that they cannot change afterwards.
        uint8_t* const weights = worker.scratch.take(uint64_t{block.rows} * block.cols);
        for (uint32_t r = 0; r < block.rows; r++)
            if (Fault fault = dma.read(data.row(r), weights + size_t{r} * block.cols)) return fault;
        Cost spent;
        if (Fault fault =
                env.array.program(block, reinterpret_cast<const int8_t*>(weights), block.cols, env.now, &spent))
            return fault;
        spend(spent);
        return {};
    }
    Rows rows;
    if (Fault fault = rows.map_out(dma, worker.scratch, data)) return fault;
    if (Fault fault = env.array.read(block, env.now, reinterpret_cast<int8_t*>(rows.data), rows.stride)) return fault;
    return rows.commit();
}

Fault weights_finish(const Env& env, const Job& job) {
    if (is_update(job) && !env.array.end_update(update_of(job))) return {kNotKept};
    return {};
}

}  // namespace

const Operation kProgramOperation = {SIDRA_HW_ENGINE_PROGRAM, weights_prepare, find, weights_unit, weights_finish};
const Operation kReadbackOperation = {SIDRA_HW_ENGINE_PROGRAM, weights_prepare, find, weights_unit};

}  // namespace sidra::chip
