// SPDX-License-Identifier: MIT
// VEC: the compute engine's operations. A unit is a group of rows (TRANSPOSE: a block of rows and columns).
#include <algorithm>
#include <cstring>

#include "job.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kElementsPerNs = 1;  // estimate for slices
constexpr uint64_t kMovesPerNs = 4;
constexpr uint64_t kUnitBytes = 64u << 10;  // of input
constexpr uint32_t kTransposeBlock = 128;   // rows and columns of a unit

constexpr uint8_t bit(uint32_t type) { return static_cast<uint8_t>(1u << type); }
constexpr uint8_t kU8 = bit(SIDRA_TYPE_U8), kS8 = bit(SIDRA_TYPE_S8), kS32 = bit(SIDRA_TYPE_S32),
                  kF32 = bit(SIDRA_TYPE_F32);

enum class In2 : uint8_t { kNone, kOptional, kRequired };
enum class Out : uint8_t { kListed, kSame, kIndex };  // output type: any of `out`, the input's, S32

// What uapi/sidra_cmd.h says of each operation.
struct Rule {
    uint32_t op;
    uint8_t in;  // allowed input types, as bits
    Out out_rule;
    uint8_t out;
    In2 in2;
    bool in2_stride;  // uses in2_stride
    bool param0, param1;
};
constexpr Rule kRules[] = {
    {SIDRA_VEC_OP_QUANTIZE, kF32 | kS32, Out::kListed, kS8 | kU8 | kS32, In2::kOptional, false, true, true},
    {SIDRA_VEC_OP_DEQUANTIZE, kS8 | kU8 | kS32, Out::kListed, kF32, In2::kOptional, false, true, true},
    {SIDRA_VEC_OP_ADD, kF32 | kS32, Out::kSame, 0, In2::kRequired, true, false, false},
    {SIDRA_VEC_OP_SUB, kF32 | kS32, Out::kSame, 0, In2::kRequired, true, false, false},
    {SIDRA_VEC_OP_MUL, kF32 | kS32, Out::kSame, 0, In2::kRequired, true, false, false},
    {SIDRA_VEC_OP_MAX, kF32 | kS32, Out::kSame, 0, In2::kRequired, true, false, false},
    {SIDRA_VEC_OP_MIN, kF32 | kS32, Out::kSame, 0, In2::kRequired, true, false, false},
    {SIDRA_VEC_OP_RELU, kF32 | kS32 | kS8, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_GELU, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_GELU_TANH, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_SIGMOID, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_TANH, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_SILU, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_EXP, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_LUT, kS8 | kU8, Out::kListed, kS8 | kU8, In2::kRequired, false, false, false},
    {SIDRA_VEC_OP_SOFTMAX, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_LAYERNORM, kF32, Out::kSame, 0, In2::kOptional, false, true, false},
    {SIDRA_VEC_OP_REDUCE_SUM, kF32 | kS32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_REDUCE_MEAN, kF32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_REDUCE_MAX, kF32 | kS32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_REDUCE_MIN, kF32 | kS32, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_ARGMAX, kF32 | kS32 | kS8 | kU8, Out::kIndex, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_POOL_MAX, kF32 | kS8 | kU8, Out::kSame, 0, In2::kRequired, false, false, false},
    {SIDRA_VEC_OP_POOL_AVG, kF32, Out::kSame, 0, In2::kRequired, false, false, false},
    {SIDRA_VEC_OP_TRANSPOSE, kF32 | kS32 | kS8 | kU8, Out::kSame, 0, In2::kNone, false, false, false},
    {SIDRA_VEC_OP_GATHER, kF32 | kS32 | kS8 | kU8, Out::kSame, 0, In2::kRequired, false, false, true},
};

const Rule* find_rule(uint32_t op) {
    auto found = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.op == op; });
    return found == std::end(kRules) ? nullptr : found;
}

bool is_pool(uint32_t op) { return op == SIDRA_VEC_OP_POOL_MAX || op == SIDRA_VEC_OP_POOL_AVG; }
bool is_reduction(uint32_t op) { return op >= SIDRA_VEC_OP_REDUCE_SUM && op <= SIDRA_VEC_OP_ARGMAX; }

bool pool_ok(const sidra_vec_pool& p) {
    auto dimension = [](uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t pad) {
        if (in == 0 || in > 65535 || out == 0 || out > 65535 || kernel == 0 || kernel > 256 || stride == 0 ||
            stride > 256 || pad >= kernel)
            return false;
        // First and last window must have a pixel inside; those between then have one, too.
        const uint64_t last = uint64_t{out - 1} * stride;
        return last < uint64_t{in} + pad;
    };
    for (uint32_t word : p.reserved)
        if (word) return false;
    return dimension(p.in_h, p.out_h, p.kernel_h, p.stride_h, p.pad_h) &&
           dimension(p.in_w, p.out_w, p.kernel_w, p.stride_w, p.pad_w);
}

// One operand: alignment, stride against its row, range.
Fault check_rows(uint64_t va, uint64_t stride, uint64_t rows, uint64_t bytes, uint32_t size) {
    if (va % size || stride % size) return {SIDRA_FAULT_ALIGNMENT, va};
    if (rows > 1 && stride < bytes) return {SIDRA_FAULT_FIELD, stride};
    if (!range_ok(va, rows_extent(rows, stride, bytes))) return {SIDRA_FAULT_LIMIT, va};
    return {};
}

Fault prepare_pool(const Env& env, Job& job) {
    const sidra_cmd_vec& v = job.cmd.vec;
    VecPlan& plan = job.vec;
    if (v.in2 % 4) return {SIDRA_FAULT_ALIGNMENT, v.in2};
    if (!range_ok(v.in2, sizeof plan.pool)) return {SIDRA_FAULT_LIMIT, v.in2};
    Dma dma(env.bus, this_worker().tlb, env.space);
    if (Fault fault = dma.read(v.in2, &plan.pool, sizeof plan.pool)) return fault;
    const sidra_vec_pool& p = plan.pool;
    if (!pool_ok(p) || v.rows % p.out_h) return {SIDRA_FAULT_VALUE, v.in2};
    const uint64_t images = v.rows / p.out_h;
    if (images * p.in_h > SIDRA_CMD_VEC_ROWS_MAX) return {SIDRA_FAULT_LIMIT, images * p.in_h};
    const uint64_t in_row = uint64_t{p.in_w} * v.cols * plan.in_size,
                   out_row = uint64_t{p.out_w} * v.cols * plan.out_size;
    if (std::max(in_row, out_row) > uint64_t{SIDRA_CMD_VEC_COLS_MAX} * 256) return {SIDRA_FAULT_LIMIT, in_row};
    if (Fault fault = check_rows(v.in, v.in_stride, images * p.in_h, in_row, plan.in_size)) return fault;
    if (Fault fault = check_rows(v.out, v.out_stride, v.rows, out_row, plan.out_size)) return fault;
    const uint64_t elements = uint64_t{v.rows} * p.out_w * v.cols * p.kernel_h * p.kernel_w;
    plan.unit_rows = 1;
    job.units = v.rows;
    job.unit_work = elements / v.rows / kElementsPerNs + 1;
    job.cost = vec_cost(elements, env.clock_level);
    job.work.vec_elements = elements;
    return {};
}

Fault vec_prepare(const Env& env, Job& job) {
    const sidra_cmd_vec& v = job.cmd.vec;
    VecPlan& plan = job.vec;
    plan = {};
    const Rule* rule = find_rule(v.op);
    if (!rule || v.hdr.flags || v.hdr.pad || v.pad) return {SIDRA_FAULT_FIELD, v.op};
    if (v.in_type >= SIDRA_TYPE_COUNT || v.out_type >= SIDRA_TYPE_COUNT || !(rule->in & bit(v.in_type)))
        return {SIDRA_FAULT_FIELD, v.in_type};
    const bool out_ok = rule->out_rule == Out::kListed ? (rule->out & bit(v.out_type)) != 0
                        : rule->out_rule == Out::kSame ? v.out_type == v.in_type
                                                       : v.out_type == SIDRA_TYPE_S32;
    if (!out_ok) return {SIDRA_FAULT_FIELD, v.out_type};
    if ((rule->in2 == In2::kNone && v.in2) || (rule->in2 == In2::kRequired && !v.in2) ||
        (!rule->in2_stride && v.in2_stride) || (!rule->param0 && v.param0) || (!rule->param1 && v.param1))
        return {SIDRA_FAULT_FIELD, v.op};
    if (v.rows == 0 || v.cols == 0) return {SIDRA_FAULT_FIELD};
    if (v.rows > SIDRA_CMD_VEC_ROWS_MAX || v.cols > SIDRA_CMD_VEC_COLS_MAX) return {SIDRA_FAULT_LIMIT, v.rows};
    plan.in_size = type_size(v.in_type);
    plan.out_size = type_size(v.out_type);
    if (is_pool(v.op)) return prepare_pool(env, job);

    const uint64_t row_in = uint64_t{v.cols} * plan.in_size;
    const bool transpose = v.op == SIDRA_VEC_OP_TRANSPOSE, gather = v.op == SIDRA_VEC_OP_GATHER;
    if (transpose && v.rows > SIDRA_CMD_VEC_COLS_MAX) return {SIDRA_FAULT_LIMIT, v.rows};
    if (gather && (v.param1 == 0 || v.param1 > SIDRA_CMD_VEC_ROWS_MAX)) return {SIDRA_FAULT_LIMIT, v.param1};
    const uint64_t in_rows = gather ? v.param1 : v.rows;
    const uint64_t out_rows = transpose ? v.cols : v.rows;
    const uint64_t row_out = transpose            ? uint64_t{v.rows} * plan.out_size
                             : is_reduction(v.op) ? plan.out_size
                                                  : uint64_t{v.cols} * plan.out_size;
    if (Fault fault = check_rows(v.in, v.in_stride, in_rows, row_in, plan.in_size)) return fault;
    if (Fault fault = check_rows(v.out, v.out_stride, out_rows, row_out, plan.out_size)) return fault;
    if (v.in2) {
        uint64_t rows = 1, bytes = row_in, size = 4;
        if (v.op == SIDRA_VEC_OP_QUANTIZE || v.op == SIDRA_VEC_OP_DEQUANTIZE) bytes = uint64_t{v.cols} * 4;
        if (v.op == SIDRA_VEC_OP_LAYERNORM) bytes = uint64_t{v.cols} * 8;
        if (v.op == SIDRA_VEC_OP_LUT) bytes = 256, size = 1;
        if (gather) bytes = uint64_t{v.rows} * 4;
        if (rule->in2_stride && v.in2_stride) rows = v.rows;
        if (Fault fault = check_rows(v.in2, v.in2_stride, rows, bytes, static_cast<uint32_t>(size))) return fault;
    }

    const uint64_t elements = uint64_t{v.rows} * v.cols;
    if (transpose) {
        plan.unit_rows = kTransposeBlock;
        plan.unit_cols = kTransposeBlock;
        job.units =
            ((v.rows + kTransposeBlock - 1) / kTransposeBlock) * ((v.cols + kTransposeBlock - 1) / kTransposeBlock);
        job.unit_work = kTransposeBlock * kTransposeBlock / kMovesPerNs;
    } else {
        plan.unit_rows = static_cast<uint32_t>(std::clamp<uint64_t>(kUnitBytes / row_in, 1, v.rows));
        job.units = (v.rows + plan.unit_rows - 1) / plan.unit_rows;
        job.unit_work = plan.unit_rows * uint64_t{v.cols} / (gather ? kMovesPerNs : kElementsPerNs) + 1;
    }
    job.cost = vec_cost(elements, env.clock_level);
    job.work.vec_elements = elements;
    return {};
}

Fault pool_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    const sidra_vec_pool& p = plan.pool;
    Dma dma(env.bus, worker.tlb, env.space);
    const uint32_t image = index / p.out_h, y = index % p.out_h;
    const int64_t top = int64_t{y} * p.stride_h - p.pad_h;
    const auto first = static_cast<uint32_t>(std::max<int64_t>(top, 0));
    const auto last = static_cast<uint32_t>(std::min<int64_t>(top + p.kernel_h, p.in_h));
    Rows in, out;
    const uint64_t in_row = uint64_t{p.in_w} * v.cols * plan.in_size;
    if (Fault fault = in.map_in(dma, worker.input, v.in + (uint64_t{image} * p.in_h + first) * v.in_stride, v.in_stride,
                                last - first, in_row))
        return fault;
    worker.input_key[0] = 0;
    if (Fault fault = out.map_out(dma, worker.output, v.out + uint64_t{index} * v.out_stride, v.out_stride, 1,
                                  uint64_t{p.out_w} * v.cols * plan.out_size))
        return fault;
    engine::Pool pool{};
    pool.max = v.op == SIDRA_VEC_OP_POOL_MAX;
    pool.type = v.in_type;
    // The engine counts rows from the image's first one, of which only the window is mapped.
    pool.in = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(in.data) - first * in.stride);
    pool.in_stride = in.stride;
    pool.out = out.data;
    pool.channels = v.cols;
    pool.geometry = p;
    pool.out_y = y;
    env.engine.pool(pool);
    return out.commit();
}

Fault transpose_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    Dma dma(env.bus, worker.tlb, env.space);
    const uint32_t across = (v.cols + plan.unit_cols - 1) / plan.unit_cols;
    const uint32_t row0 = index / across * plan.unit_rows, col0 = index % across * plan.unit_cols;
    const uint32_t rows = std::min(plan.unit_rows, v.rows - row0), cols = std::min(plan.unit_cols, v.cols - col0);
    const uint64_t size = plan.in_size;
    Rows in, out;
    worker.input_key[0] = 0;
    if (Fault fault = in.map_in(dma, worker.input, v.in + uint64_t{row0} * v.in_stride + col0 * size, v.in_stride, rows,
                                cols * size))
        return fault;
    if (Fault fault = out.map_out(dma, worker.output, v.out + uint64_t{col0} * v.out_stride + row0 * size, v.out_stride,
                                  cols, rows * size))
        return fault;
    env.engine.transpose({in.data, out.data, in.stride, out.stride, rows, cols, plan.in_size});
    return out.commit();
}

Fault gather_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    const uint32_t first = index * plan.unit_rows, last = std::min(first + plan.unit_rows, v.rows);
    const uint64_t bytes = uint64_t{v.cols} * plan.in_size;
    worker.input_key[0] = 0;
    if (worker.input.size() < bytes) worker.input.resize(bytes);
    for (uint32_t r = first; r < last; r++) {
        Dma dma(env.bus, worker.tlb, env.space);
        int32_t from;
        if (Fault fault = dma.read(v.in2 + uint64_t{r} * 4, &from, 4)) return fault;
        if (from < 0 || static_cast<uint32_t>(from) >= v.param1)
            return {SIDRA_FAULT_VALUE, static_cast<uint32_t>(from)};
        const uint64_t src = v.in + uint64_t(from) * v.in_stride;
        Fault fault;
        const uint8_t* row = dma.map_all(src, bytes, false, &fault);
        if (fault) return fault;
        if (!row) {
            if ((fault = dma.read(src, worker.input.data(), bytes))) return fault;
            row = worker.input.data();
        }
        if ((fault = dma.write(v.out + uint64_t{r} * v.out_stride, row, bytes))) return fault;
    }
    return {};
}

Fault vec_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    if (is_pool(v.op)) return pool_unit(env, job, worker, index);
    if (v.op == SIDRA_VEC_OP_TRANSPOSE) return transpose_unit(env, job, worker, index);
    if (v.op == SIDRA_VEC_OP_GATHER) return gather_unit(env, job, worker, index);

    const uint32_t first = index * plan.unit_rows, rows = std::min(plan.unit_rows, v.rows - first);
    Dma dma(env.bus, worker.tlb, env.space);
    worker.input_key[0] = 0;
    Rows in, in2, out;
    if (Fault fault = in.map_in(dma, worker.input, v.in + uint64_t{first} * v.in_stride, v.in_stride, rows,
                                uint64_t{v.cols} * plan.in_size))
        return fault;

    engine::Vec vec{};
    if (v.in2) {
        uint64_t bytes = uint64_t{v.cols} * 4;
        if (v.op == SIDRA_VEC_OP_LAYERNORM) bytes *= 2;
        if (v.op == SIDRA_VEC_OP_LUT) bytes = 256;
        const bool all_rows = v.in2_stride != 0;
        if (Fault fault = in2.map_in(dma, worker.operand, v.in2 + (all_rows ? uint64_t{first} * v.in2_stride : 0),
                                     v.in2_stride, all_rows ? rows : 1, bytes))
            return fault;
        vec.in2 = in2.data;
        vec.in2_stride = all_rows ? in2.stride : 0;
    }
    const uint64_t out_bytes = is_reduction(v.op) ? plan.out_size : uint64_t{v.cols} * plan.out_size;
    if (Fault fault =
            out.map_out(dma, worker.output, v.out + uint64_t{first} * v.out_stride, v.out_stride, rows, out_bytes))
        return fault;
    vec.op = v.op;
    vec.in_type = v.in_type;
    vec.out_type = v.out_type;
    vec.rows = rows;
    vec.cols = v.cols;
    vec.in = in.data;
    vec.in_stride = in.stride;
    vec.out = out.data;
    vec.out_stride = out.stride;
    vec.param0 = v.param0;
    vec.param1 = v.param1;
    env.engine.vec(vec);
    return out.commit();
}

}  // namespace

const Operation kVecOperation = {SIDRA_HW_ENGINE_VEC, vec_prepare, nullptr, vec_unit};

}  // namespace sidra::chip
