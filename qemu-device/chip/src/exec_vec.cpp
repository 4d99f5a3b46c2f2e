// SPDX-License-Identifier: MIT
// VEC: the operations of the compute engine. A unit is a group of rows (TRANSPOSE: a block of rows and columns;
// pooling: part of one output row).
#include <algorithm>
#include <cstring>

#include "job.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kElementsPerNs = 1;  // estimate for slices
constexpr uint64_t kMovesPerNs = 4;
constexpr uint64_t kUnitBytes = 64u << 10;   // of input
constexpr uint32_t kTransposeBlock = 128;    // rows and columns of a unit
constexpr uint64_t kWindowBytes = 4u << 20;  // maximum input that a unit of a pooling gathers
static_assert(uint64_t{SIDRA_CMD_POOL_WINDOW_MAX} * 4 <= kWindowBytes &&
              SIDRA_CMD_POOL_WINDOW_MAX <= kUnitMax.operations);

constexpr uint8_t bit(uint32_t type) { return static_cast<uint8_t>(1u << type); }
constexpr uint8_t kU8 = bit(SIDRA_TYPE_U8), kS8 = bit(SIDRA_TYPE_S8), kS32 = bit(SIDRA_TYPE_S32),
                  kF32 = bit(SIDRA_TYPE_F32);

enum class In2 : uint8_t { kNone, kOptional, kRequired };
enum class Out : uint8_t { kListed, kSame, kIndex };  // output type: one of `out`, the input's type, S32

// The rules for each operation in uapi/sidra_cmd.h.
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
        // The first and last window must contain a pixel of the image; then all windows do.
        const uint64_t last = uint64_t{out - 1} * stride;
        return last < uint64_t{in} + pad;
    };
    for (uint32_t word : p.reserved)
        if (word) return false;
    return dimension(p.in_h, p.out_h, p.kernel_h, p.stride_h, p.pad_h) &&
           dimension(p.in_w, p.out_w, p.kernel_w, p.stride_w, p.pad_w);
}

// Checks alignment, stride and range of an operand.
Fault check_rows(uint64_t va, uint64_t stride, uint64_t rows, uint64_t bytes, uint32_t size, Rectangle* operand) {
    if (va % size || stride % size) return {SIDRA_FAULT_ALIGNMENT, va};
    if (rows > 1 && stride < bytes) return {SIDRA_FAULT_FIELD, stride};
    *operand = Rectangle(va, stride, rows, bytes);
    return operand->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

Fault prepare_pool(const Env& env, Job& job) {
    const sidra_cmd_vec& v = job.cmd.vec;
    VecPlan& plan = job.vec;
    if (v.in2 % 4) return {SIDRA_FAULT_ALIGNMENT, v.in2};
    const Range geometry(Space::kDevice, v.in2, sizeof plan.pool);
    if (!geometry.valid()) return {SIDRA_FAULT_LIMIT, v.in2};
    Dma dma(env.bus, this_worker().tlb, env.space);
    if (Fault fault = dma.read(geometry, &plan.pool)) return fault;
    const sidra_vec_pool& p = plan.pool;
    if (!pool_ok(p) || v.rows % p.out_h) return {SIDRA_FAULT_VALUE, v.in2};
    const uint64_t images = v.rows / p.out_h;
    if (images * p.in_h > SIDRA_CMD_VEC_ROWS_MAX) return {SIDRA_FAULT_LIMIT, images * p.in_h};
    const uint64_t pixel = uint64_t{v.cols} * plan.in_size;
    const uint64_t in_row = p.in_w * pixel, out_row = p.out_w * pixel;
    if (std::max(in_row, out_row) > uint64_t{SIDRA_CMD_VEC_COLS_MAX} * 256) return {SIDRA_FAULT_LIMIT, in_row};
    if (Fault fault = check_rows(v.in, v.in_stride, images * p.in_h, in_row, plan.in_size, &plan.in)) return fault;
    if (Fault fault = check_rows(v.out, v.out_stride, v.rows, out_row, plan.out_size, &plan.out)) return fault;

    // Choose as many output pixels as one unit may compute and gather the input for. The products cannot overflow: a
    // window has at most 2^20 elements, a row 2^16 windows, and there are at most 2^24 rows.
    const uint64_t window = uint64_t{p.kernel_h} * p.kernel_w * v.cols;
    if (window > SIDRA_CMD_POOL_WINDOW_MAX) return {SIDRA_FAULT_LIMIT, window};
    const uint64_t elements = window * p.out_w * v.rows;
    if (elements > SIDRA_CMD_POOL_MAX) return {SIDRA_FAULT_LIMIT, elements};
    const uint64_t reach = kWindowBytes / (p.kernel_h * pixel);  // columns of input; at least one window
    const uint64_t pixels = std::min({uint64_t{p.out_w}, std::max<uint64_t>(kUnitMax.operations / window, 1),
                                      (reach - p.kernel_w) / p.stride_w + 1});
    const uint64_t columns = std::min<uint64_t>((pixels - 1) * p.stride_w + p.kernel_w, p.in_w);
    const uint64_t units = (p.out_w + pixels - 1) / pixels * v.rows;
    if (units > UINT32_MAX) return {SIDRA_FAULT_LIMIT, units};
    plan.unit_rows = 1;
    plan.unit_cols = static_cast<uint32_t>(pixels);
    job.units = static_cast<uint32_t>(units);
    job.unit_load = {pixels * window, p.kernel_h + uint64_t{1},
                     Rows::scratch_of(p.kernel_h, columns * pixel) + Rows::scratch_of(1, pixels * pixel)};
    job.unit_work = job.unit_load.operations / kElementsPerNs + job.unit_load.pieces * kPieceNs;
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
    if (v.in_type > SIDRA_TYPE_F32 || v.out_type > SIDRA_TYPE_F32 || !(rule->in & bit(v.in_type)))
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
    if (Fault fault = check_rows(v.in, v.in_stride, in_rows, row_in, plan.in_size, &plan.in)) return fault;
    if (Fault fault = check_rows(v.out, v.out_stride, out_rows, row_out, plan.out_size, &plan.out)) return fault;
    if (v.in2) {
        uint64_t rows = 1, bytes = row_in;
        uint32_t size = 4;
        if (v.op == SIDRA_VEC_OP_QUANTIZE || v.op == SIDRA_VEC_OP_DEQUANTIZE) bytes = uint64_t{v.cols} * 4;
        if (v.op == SIDRA_VEC_OP_LAYERNORM) bytes = uint64_t{v.cols} * 8;
        if (v.op == SIDRA_VEC_OP_LUT) bytes = 256, size = 1;
        if (gather) bytes = uint64_t{v.rows} * 4;
        if (rule->in2_stride && v.in2_stride) rows = v.rows;
        if (Fault fault = check_rows(v.in2, v.in2_stride, rows, bytes, size, &plan.in2)) return fault;
    }

    const uint64_t elements = uint64_t{v.rows} * v.cols;
    if (transpose) {
        constexpr uint64_t kBlock = kTransposeBlock;
        plan.unit_rows = plan.unit_cols = kTransposeBlock;
        job.units =
            ((v.rows + kTransposeBlock - 1) / kTransposeBlock) * ((v.cols + kTransposeBlock - 1) / kTransposeBlock);
        job.unit_load = {kBlock * kBlock, 2 * kBlock, 2 * Rows::scratch_of(kBlock, kBlock * plan.in_size)};
        job.unit_work = job.unit_load.operations / kMovesPerNs;
    } else {
        const uint64_t rows = std::clamp<uint64_t>(std::min(kUnitBytes / row_in, kUnitRows), 1, v.rows);
        plan.unit_rows = static_cast<uint32_t>(rows);
        job.units = (v.rows + plan.unit_rows - 1) / plan.unit_rows;
        const auto pieces = [&](const Rectangle& operand) { return std::min(operand.pieces(), rows); };
        const uint64_t in2_rows = !v.in2 ? 0 : std::min(plan.in2.rows(), rows);
        job.unit_load = {rows * v.cols, pieces(plan.in) + pieces(plan.out) + (v.in2 ? pieces(plan.in2) : 0),
                         Rows::scratch_of(rows, row_in) + Rows::scratch_of(rows, row_out) +
                             Rows::scratch_of(in2_rows, plan.in2.bytes())};
        // Each input row is read separately, using the unit's part of the index table.
        if (gather)
            job.unit_load = {rows * v.cols, rows + 1 + pieces(plan.out),
                             Rows::scratch_of(rows, 4) + Rows::scratch_of(rows, row_out)};
        job.unit_work =
            job.unit_load.operations / (gather ? kMovesPerNs : kElementsPerNs) + job.unit_load.pieces * kPieceNs;
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
    const uint32_t across = (p.out_w + plan.unit_cols - 1) / plan.unit_cols;
    const uint32_t row = index / across, x = index % across * plan.unit_cols;
    const uint32_t pixels = std::min(plan.unit_cols, p.out_w - x);
    const uint32_t image = row / p.out_h, y = row % p.out_h;
    // The rows and columns of the image that the unit's windows cover: from first to before last.
    const auto first = [](uint32_t out, uint32_t stride, uint32_t pad) {
        return static_cast<uint32_t>(std::max<int64_t>(int64_t{out} * stride - pad, 0));
    };
    const auto last = [](uint32_t out, uint32_t stride, uint32_t pad, uint32_t kernel, uint32_t in) {
        return static_cast<uint32_t>(std::min<int64_t>(int64_t{out} * stride - pad + kernel, in));
    };
    const uint32_t top = first(y, p.stride_h, p.pad_h), bottom = last(y, p.stride_h, p.pad_h, p.kernel_h, p.in_h);
    const uint32_t left = first(x, p.stride_w, p.pad_w),
                   right = last(x + pixels - 1, p.stride_w, p.pad_w, p.kernel_w, p.in_w);
    const uint64_t pixel = uint64_t{v.cols} * plan.in_size;
    Rows in, out;
    if (Fault fault =
            in.map_in(dma, worker.scratch,
                      plan.in.part(uint64_t{image} * p.in_h + top, bottom - top, left * pixel, (right - left) * pixel)))
        return fault;
    if (Fault fault = out.map_out(dma, worker.scratch, plan.out.part(row, 1, x * pixel, pixels * pixel))) return fault;
    engine::Pool pool{};
    pool.max = v.op == SIDRA_VEC_OP_POOL_MAX;
    pool.type = v.in_type;
    // The engine addresses rows and columns relative to the image's origin, of which only the windows are mapped.
    pool.in = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(in.data) - top * in.stride - left * pixel);
    pool.in_stride = in.stride;
    pool.out = out.data;
    pool.channels = v.cols;
    pool.geometry = p;
    pool.out_y = y;
    pool.out_x = x;
    pool.pixels = pixels;
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
    if (Fault fault = in.map_in(dma, worker.scratch, plan.in.part(row0, rows, col0 * size, cols * size))) return fault;
    if (Fault fault = out.map_out(dma, worker.scratch, plan.out.part(col0, cols, row0 * size, rows * size)))
        return fault;
    env.engine.transpose({in.data, out.data, in.stride, out.stride, rows, cols, plan.in_size});
    return out.commit();
}

Fault gather_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    const uint64_t first = uint64_t{index} * plan.unit_rows;
    const uint64_t rows = std::min<uint64_t>(plan.unit_rows, v.rows - first);
    Dma dma(env.bus, worker.tlb, env.space);
    // The indices are copied from shared memory before the check, so that they cannot change afterwards.
    auto* const from = worker.scratch.take_array<int32_t>(rows);
    if (Fault fault = dma.read(plan.in2.extent().part(first * 4, rows * 4), from)) return fault;
    Rows out;
    if (Fault fault = out.map_out(dma, worker.scratch, plan.out.rows(first, rows))) return fault;
    for (uint64_t r = 0; r < rows; r++) {
        const auto row = static_cast<uint32_t>(from[r]);
        if (row >= v.param1) return {SIDRA_FAULT_VALUE, row};
        if (Fault fault = dma.read(plan.in.row(row), out.data + r * out.stride)) return fault;
    }
    return out.commit();
}

Fault vec_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_vec& v = job.cmd.vec;
    const VecPlan& plan = job.vec;
    if (is_pool(v.op)) return pool_unit(env, job, worker, index);
    if (v.op == SIDRA_VEC_OP_TRANSPOSE) return transpose_unit(env, job, worker, index);
    if (v.op == SIDRA_VEC_OP_GATHER) return gather_unit(env, job, worker, index);

    const uint32_t first = index * plan.unit_rows, rows = std::min(plan.unit_rows, v.rows - first);
    Dma dma(env.bus, worker.tlb, env.space);
    Rows in, in2, out;
    if (Fault fault = in.map_in(dma, worker.scratch, plan.in.rows(first, rows))) return fault;

    engine::Vec vec{};
    if (v.in2) {
        const bool all_rows = plan.in2.rows() > 1;
        if (Fault fault = in2.map_in(dma, worker.scratch, all_rows ? plan.in2.rows(first, rows) : plan.in2))
            return fault;
        vec.in2 = in2.data;
        vec.in2_stride = all_rows ? in2.stride : 0;
    }
    if (Fault fault = out.map_out(dma, worker.scratch, plan.out.rows(first, rows))) return fault;
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
