// SPDX-License-Identifier: MIT
// Operations of the compute engine: a table with their requirements, and one function that checks them.
#include <array>
#include <cmath>
#include <cstring>

#include "buffer.h"
#include "element.h"
#include "structs.h"
#include "submit.h"

namespace sidra {
namespace {

constexpr uint8_t kU8 = 1 << SIDRA_U8, kS8 = 1 << SIDRA_S8, kS32 = 1 << SIDRA_S32, kF32 = 1 << SIDRA_F32;
constexpr uint8_t kAny = kU8 | kS8 | kS32 | kF32;

enum class Second : uint8_t {
    kNone,
    kRows,       // rows x cols, or one row for all with stride 0
    kPerColumn,  // cols f32, optional
    kGammaBeta,  // 2 x cols f32, optional
    kTable,      // 256 bytes
    kGeometry,   // struct sidra_vec_pool
    kIndices,    // rows s32
};
enum class Out : uint8_t { kSame, kListed, kS32Always };  // type of the output
enum class Param : uint8_t { kNone, kScaleZero, kEpsilon, kLimit };

struct Rule {
    const char* name = nullptr;
    uint8_t in = 0;  // allowed input types
    Out out_rule = Out::kSame;
    uint8_t out = 0;  // allowed output types with kListed
    Second second = Second::kNone;
    Param param = Param::kNone;
};

constexpr std::array<Rule, SIDRA_VEC_OP_COUNT> make_rules() {
    std::array<Rule, SIDRA_VEC_OP_COUNT> rules{};
    rules[SIDRA_VEC_QUANTIZE] = {"QUANTIZE",       kF32 | kS32,        Out::kListed,
                                 kS8 | kU8 | kS32, Second::kPerColumn, Param::kScaleZero};
    rules[SIDRA_VEC_DEQUANTIZE] = {"DEQUANTIZE", kS8 | kU8 | kS32,   Out::kListed,
                                   kF32,         Second::kPerColumn, Param::kScaleZero};
    rules[SIDRA_VEC_ADD] = {"ADD", kF32 | kS32, Out::kSame, 0, Second::kRows};
    rules[SIDRA_VEC_SUB] = {"SUB", kF32 | kS32, Out::kSame, 0, Second::kRows};
    rules[SIDRA_VEC_MUL] = {"MUL", kF32 | kS32, Out::kSame, 0, Second::kRows};
    rules[SIDRA_VEC_MAX] = {"MAX", kF32 | kS32, Out::kSame, 0, Second::kRows};
    rules[SIDRA_VEC_MIN] = {"MIN", kF32 | kS32, Out::kSame, 0, Second::kRows};
    rules[SIDRA_VEC_RELU] = {"RELU", kF32 | kS32 | kS8};
    rules[SIDRA_VEC_GELU] = {"GELU", kF32};
    rules[SIDRA_VEC_GELU_TANH] = {"GELU_TANH", kF32};
    rules[SIDRA_VEC_SIGMOID] = {"SIGMOID", kF32};
    rules[SIDRA_VEC_TANH] = {"TANH", kF32};
    rules[SIDRA_VEC_SILU] = {"SILU", kF32};
    rules[SIDRA_VEC_EXP] = {"EXP", kF32};
    rules[SIDRA_VEC_LUT] = {"LUT", kS8 | kU8, Out::kListed, kS8 | kU8, Second::kTable};
    rules[SIDRA_VEC_SOFTMAX] = {"SOFTMAX", kF32};
    rules[SIDRA_VEC_LAYERNORM] = {"LAYERNORM", kF32, Out::kSame, 0, Second::kGammaBeta, Param::kEpsilon};
    rules[SIDRA_VEC_REDUCE_SUM] = {"REDUCE_SUM", kF32 | kS32};
    rules[SIDRA_VEC_REDUCE_MEAN] = {"REDUCE_MEAN", kF32};
    rules[SIDRA_VEC_REDUCE_MAX] = {"REDUCE_MAX", kF32 | kS32};
    rules[SIDRA_VEC_REDUCE_MIN] = {"REDUCE_MIN", kF32 | kS32};
    rules[SIDRA_VEC_ARGMAX] = {"ARGMAX", kAny, Out::kS32Always};
    rules[SIDRA_VEC_POOL_MAX] = {"POOL_MAX", kF32 | kS8 | kU8, Out::kSame, 0, Second::kGeometry};
    rules[SIDRA_VEC_POOL_AVG] = {"POOL_AVG", kF32, Out::kSame, 0, Second::kGeometry};
    rules[SIDRA_VEC_TRANSPOSE] = {"TRANSPOSE", kAny};
    rules[SIDRA_VEC_GATHER] = {"GATHER", kAny, Out::kSame, 0, Second::kIndices, Param::kLimit};
    return rules;
}
constexpr auto kRules = make_rules();

bool is_reduction(uint32_t op) { return op >= SIDRA_VEC_REDUCE_SUM && op <= SIDRA_VEC_ARGMAX; }
bool is_pool(uint32_t op) { return op == SIDRA_VEC_POOL_MAX || op == SIDRA_VEC_POOL_AVG; }

std::string type_list(uint8_t types) {
    std::string text;
    for (uint32_t type = 0; type < kTypeCount; ++type)
        if ((types >> type & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(type_name(type));
    return text;
}

[[gnu::cold]] sidra_status bad_type(const char* call, const Rule& rule, const char* which, uint32_t type,
                                    uint8_t allowed) {
    return guarded(call, [&] {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} cannot have {} {}: must be {}", rule.name, which,
                    type_name(type), type_list(allowed));
    });
}

sidra_status check_types(const char* call, const Rule& rule, const sidra_vec& vec) {
    const uint32_t in = raw_value(vec.in_type), out = raw_value(vec.out_type);
    if (in >= kTypeCount || (rule.in >> in & 1) == 0) return bad_type(call, rule, "in_type", in, rule.in);
    uint8_t allowed = rule.out;
    if (rule.out_rule == Out::kSame) allowed = static_cast<uint8_t>(1u << in);
    if (rule.out_rule == Out::kS32Always) allowed = kS32;
    if (out >= kTypeCount || (allowed >> out & 1) == 0) return bad_type(call, rule, "out_type", out, allowed);
    return SIDRA_OK;
}

sidra_status check_shape(const char* call, const Rule& rule, const sidra_vec& vec) {
    if (vec.rows == 0 || vec.rows > SIDRA_CMD_VEC_ROWS_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "rows is {}: must be 1..{}; split larger ones", vec.rows,
                    SIDRA_CMD_VEC_ROWS_MAX);
    if (vec.cols == 0 || vec.cols > SIDRA_CMD_VEC_COLS_MAX)
        return fail(
            SIDRA_ERROR_INVALID_ARGUMENT, call, "cols is {}: {} takes 1..{} elements in a row{}", vec.cols, rule.name,
            SIDRA_CMD_VEC_COLS_MAX,
            vec.op < SIDRA_VEC_SOFTMAX ? "; it treats each element alone, so give a long vector as several rows" : "");
    if (vec.op == SIDRA_VEC_TRANSPOSE && vec.rows > SIDRA_CMD_VEC_COLS_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} makes rows of {} elements: at most {}; split it", rule.name,
                    vec.rows, SIDRA_CMD_VEC_COLS_MAX);
    return SIDRA_OK;
}

sidra_status set_params(const char* call, const Rule& rule, const sidra_vec& vec, sidra_cmd_vec* packet) {
    const bool takes_scale = rule.param == Param::kScaleZero || rule.param == Param::kEpsilon;
    if (!takes_scale && vec.scale != 0.0f)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} takes no scale ({}); leave it 0", rule.name, vec.scale);
    if (rule.param != Param::kScaleZero && vec.zero != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} takes no zero point ({}); leave it 0", rule.name, vec.zero);
    if (rule.param != Param::kLimit && vec.limit != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} takes no limit ({}); leave it 0", rule.name, vec.limit);
    switch (rule.param) {
        case Param::kNone:
            break;
        case Param::kScaleZero:
            if (!std::isfinite(vec.scale))
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "scale is {}: must be finite", vec.scale);
            // Rounding float values to integers is rarely intended.
            if (vec.op == SIDRA_VEC_QUANTIZE && vec.scale == 0.0f && vec.in2.buffer == nullptr)
                return fail(
                    SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "scale is 0, but QUANTIZE needs it, or a factor for each column in `in2`: it is the number of "
                    "code steps for 1.0");
            packet->param0 = factor_bits(vec.scale);
            packet->param1 = static_cast<uint32_t>(vec.zero);
            break;
        case Param::kEpsilon:
            if (!std::isfinite(vec.scale) || vec.scale < 0.0f)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                            "scale (epsilon) is {}: must be finite and not negative", vec.scale);
            packet->param0 = std::bit_cast<uint32_t>(vec.scale);
            break;
        case Param::kLimit:
            if (vec.limit == 0)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "limit is 0: must be the rows of the table");
            packet->param1 = vec.limit;
            break;
    }
    return SIDRA_OK;
}

// The rows of input and output, as far as known here.
struct Shape {
    uint64_t in_rows, in_bytes;
    uint64_t out_rows, out_bytes;
};

Shape shape_of(const sidra_vec& vec, uint32_t in_element, uint32_t out_element) {
    Shape shape{vec.rows, uint64_t{vec.cols} * in_element, vec.rows, uint64_t{vec.cols} * out_element};
    if (is_reduction(vec.op)) shape.out_bytes = out_element;
    if (vec.op == SIDRA_VEC_TRANSPOSE) shape.out_rows = vec.cols, shape.out_bytes = uint64_t{vec.rows} * out_element;
    if (vec.op == SIDRA_VEC_GATHER) shape.in_rows = vec.limit;
    return shape;
}

// Checks geometry in host memory already here, to report errors and to allow default strides. Geometry in L3 may not
// have been written yet; only the chip checks it.
sidra_status pool_shape(const char* call, const sidra_vec& vec, uint32_t element, Shape* shape) {
    const sidra_buffer& geometry = buffer_of(vec.in2);
    if (geometry.local) {
        if (vec.in_stride == 0 || vec.out_stride == 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "with pool geometry in L3, in_stride and out_stride must be given");
        *shape = {1, vec.in_stride, 1, vec.out_stride};
        return SIDRA_OK;
    }
    sidra_vec_pool pool;
    std::memcpy(&pool, geometry.host + vec.in2.offset, sizeof pool);
    const auto in_range = [](uint64_t value, uint64_t low, uint64_t high) { return value >= low && value <= high; };
    for (const uint32_t size : {pool.in_h, pool.in_w, pool.out_h, pool.out_w})
        if (!in_range(size, 1, 65535))
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "pool geometry: a size is {}: must be 1..65535", size);
    for (const uint32_t size : {pool.kernel_h, pool.kernel_w, pool.stride_h, pool.stride_w})
        if (!in_range(size, 1, 256))
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "pool geometry: a kernel or stride is {}: must be 1..256",
                        size);
    if (pool.pad_h >= pool.kernel_h || pool.pad_w >= pool.kernel_w)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "pool geometry: padding {} x {} must be smaller than the kernel {} x {}", pool.pad_h, pool.pad_w,
                    pool.kernel_h, pool.kernel_w);
    // Each output needs at least one pixel: the last window must begin inside the image.
    if (uint64_t{pool.out_h - 1} * pool.stride_h >= uint64_t{pool.in_h} + pool.pad_h ||
        uint64_t{pool.out_w - 1} * pool.stride_w >= uint64_t{pool.in_w} + pool.pad_w)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "pool geometry: output {} x {} reaches outside the input {} x {}", pool.out_h, pool.out_w,
                    pool.in_h, pool.in_w);
    if (vec.rows % pool.out_h != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "rows is {}: must be a multiple of the {} output rows of an image", vec.rows, pool.out_h);
    const uint64_t window = uint64_t{pool.kernel_h} * pool.kernel_w * vec.cols;
    if (window > SIDRA_CMD_POOL_WINDOW_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "pool geometry: a kernel of {} x {} over {} channels covers {} elements: at most {}; split the "
                    "channels",
                    pool.kernel_h, pool.kernel_w, vec.cols, window, SIDRA_CMD_POOL_WINDOW_MAX);
    if (window * pool.out_w * vec.rows > SIDRA_CMD_POOL_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "pooling of {} rows of {} pixels with {} elements each is more than {} in all; split the images",
                    vec.rows, pool.out_w, window, SIDRA_CMD_POOL_MAX);
    const uint64_t images = vec.rows / pool.out_h;
    *shape = {images * pool.in_h, uint64_t{pool.in_w} * vec.cols * element, vec.rows,
              uint64_t{pool.out_w} * vec.cols * element};
    return SIDRA_OK;
}

sidra_status resolve_second(const char* call, const Rule& rule, const sidra_context* context, const sidra_vec& vec,
                            uint32_t element, sidra_cmd_vec* packet) {
    const bool optional = rule.second == Second::kPerColumn || rule.second == Second::kGammaBeta;
    if (vec.in2.buffer == nullptr) {
        if (vec.in2.offset != 0 || vec.in2_stride != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "in2.buffer is NULL, but its offset or in2_stride is not 0");
        if (rule.second == Second::kNone || optional) return SIDRA_OK;
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} needs a second operand `in2`", rule.name);
    }
    if (rule.second == Second::kNone)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} takes no second operand `in2`", rule.name);
    uint64_t bytes = 0;
    uint32_t alignment = 4;
    switch (rule.second) {
        case Second::kNone:
            break;
        case Second::kRows:
            bytes = uint64_t{vec.cols} * element;
            alignment = element;
            if (vec.in2_stride != 0) {
                SIDRA_TRY(check_stride(call, "in2_stride", vec.in2_stride, bytes, element, &packet->in2_stride));
                bytes = extent_of(vec.rows, bytes, packet->in2_stride);
            }
            break;
        case Second::kPerColumn:
            bytes = uint64_t{vec.cols} * sizeof(float);
            break;
        case Second::kGammaBeta:
            bytes = uint64_t{vec.cols} * sizeof(float) * 2;
            break;
        case Second::kTable:
            bytes = 256, alignment = 1;
            break;
        case Second::kGeometry:
            bytes = sizeof(sidra_vec_pool);
            break;
        case Second::kIndices:
            bytes = uint64_t{vec.rows} * sizeof(int32_t);
            break;
    }
    if (rule.second != Second::kRows && vec.in2_stride != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} takes no in2_stride ({}); leave it 0", rule.name,
                    vec.in2_stride);
    return resolve(call, "in2", context, vec.in2, bytes, alignment, Access::kRead, &packet->in2);
}

sidra_status check_overlap(const char* call, const sidra_vec& vec, const Rows& in, const Rows& out) {
    const bool in_place =
        in.address == out.address && in.row_bytes == out.row_bytes && (in.stride == out.stride || in.rows == 1);
    if ((in_place && vec.op < SIDRA_VEC_REDUCE_SUM) || !overlap(in, out)) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`in` (offset {}) and `out` (offset {}) of buffer {} overlap; {}",
                vec.in.offset, vec.out.offset, buffer_of(vec.in).id,
                vec.op < SIDRA_VEC_REDUCE_SUM ? "in place means the same offset, stride and element size"
                                              : "this operation cannot work in place");
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_vec_async(sidra_stream* stream, const sidra_vec* vec) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_vec", vec));
    const sidra_context* context = stream->context;
    const uint32_t op = raw_value(vec->op);
    if (op >= kRules.size() || kRules[op].name == nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "op is {}: not a sidra_vec_operation", op);
    const Rule& rule = kRules[op];
    SIDRA_TRY(check_types(call, rule, *vec));
    SIDRA_TRY(check_shape(call, rule, *vec));
    sidra_cmd packet = make_packet(SIDRA_CMD_VEC, vec->cookie);
    SIDRA_TRY(set_params(call, rule, *vec, &packet.vec));

    const uint32_t in_element = element_size(vec->in_type), out_element = element_size(vec->out_type);
    SIDRA_TRY(resolve_second(call, rule, context, *vec, in_element, &packet.vec));
    Shape shape = shape_of(*vec, in_element, out_element);
    if (is_pool(op)) SIDRA_TRY(pool_shape(call, *vec, in_element, &shape));
    SIDRA_TRY(check_stride(call, "in_stride", vec->in_stride, shape.in_bytes, in_element, &packet.vec.in_stride));
    SIDRA_TRY(check_stride(call, "out_stride", vec->out_stride, shape.out_bytes, out_element, &packet.vec.out_stride));
    const Rows in{0, shape.in_bytes, packet.vec.in_stride, shape.in_rows},
        out{0, shape.out_bytes, packet.vec.out_stride, shape.out_rows};
    SIDRA_TRY(resolve(call, "in", context, vec->in, extent_of(in.rows, in.row_bytes, in.stride), in_element,
                      Access::kRead, &packet.vec.in));
    SIDRA_TRY(resolve(call, "out", context, vec->out, extent_of(out.rows, out.row_bytes, out.stride), out_element,
                      Access::kWrite, &packet.vec.out));
    SIDRA_TRY(check_overlap(call, *vec, {packet.vec.in, in.row_bytes, in.stride, in.rows},
                            {packet.vec.out, out.row_bytes, out.stride, out.rows}));

    packet.vec.op = static_cast<uint8_t>(op);
    packet.vec.in_type = static_cast<uint8_t>(vec->in_type);
    packet.vec.out_type = static_cast<uint8_t>(vec->out_type);
    packet.vec.rows = vec->rows;
    packet.vec.cols = vec->cols;
    return submit(call, stream, packet);
}
