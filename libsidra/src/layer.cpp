// SPDX-License-Identifier: MIT
// Layers: products of windows and weights, with vector programs before and after them.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <span>

#include "buffer.h"
#include "element.h"
#include "label.h"
#include "operands.h"
#include "structs.h"
#include "submit.h"
#include "weights.h"

namespace sidra {
namespace {

constexpr uint32_t kImageMax = 1u << 30, kKernelMax = 256, kChannelsMax = 1u << 24, kShortMax = 65535;

struct Bound {
    const char* name;
    uint32_t value, least, most;
};

sidra_status check_numbers(const char* call, const sidra_windows& w) {
    const Bound bounds[] = {{"images", w.images, 1, SIDRA_LAYER_ROWS_MAX},
                            {"rows", w.rows, 1, SIDRA_LAYER_ROWS_MAX},
                            {"columns", w.columns, 1, SIDRA_LAYER_ROWS_MAX},
                            {"height", w.height, 1, kImageMax},
                            {"width", w.width, 1, kImageMax},
                            {"channels", w.channels, 1, kChannelsMax},
                            {"kernel_h", w.kernel_h, 1, kKernelMax},
                            {"kernel_w", w.kernel_w, 1, kKernelMax},
                            {"stride_h", w.stride_h, 1, kShortMax},
                            {"stride_w", w.stride_w, 1, kShortMax},
                            {"dilation_h", w.dilation_h, 1, kShortMax},
                            {"dilation_w", w.dilation_w, 1, kShortMax},
                            {"pad_h", w.pad_h, 0, kShortMax},
                            {"pad_w", w.pad_w, 0, kShortMax}};
    for (const Bound& b : bounds)
        if (b.value < b.least || b.value > b.most)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.{} is {}: must be {}..{}", b.name, b.value,
                        b.least, b.most);
    if (uint64_t{w.images} * w.rows > SIDRA_LAYER_ROWS_MAX ||
        uint64_t{w.images} * w.rows * w.columns > SIDRA_LAYER_ROWS_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} x {} x {} windows are more than {}; divide them into several calls", w.images, w.rows,
                    w.columns, SIDRA_LAYER_ROWS_MAX);
    if (w.kernel_h * w.kernel_w > SIDRA_LAYER_KERNEL_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "a kernel of {} x {} has more than {} pixels", w.kernel_h,
                    w.kernel_w, SIDRA_LAYER_KERNEL_MAX);
    return SIDRA_OK;
}

sidra_status check_types(const char* call, const sidra_windows& w, const sidra_program& program) {
    const uint32_t type = raw_value(w.type), codes = raw_value(w.codes);
    if (type >= kTypeCount)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.type is {}: not a sidra_type", type);
    if (codes != SIDRA_U8 && codes != SIDRA_S8)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.codes is {}: must be U8 or S8", type_name(codes));
    if (w.zero < code_min(codes) || w.zero > code_max(codes))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.zero is {}: must be {}..{} with codes of {}", w.zero,
                    code_min(codes), code_max(codes), type_name(codes));
    if (program.prologue == 0 && type != codes)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "windows.type is {} and windows.codes is {}: without a prologue they must be the same, because "
                    "nothing makes codes of the input",
                    type_name(type), type_name(codes));
    return SIDRA_OK;
}

// Strides, those of a dense NHWC image for 0.
sidra_status make_pattern(const char* call, const sidra_program& program, const sidra_windows& w,
                          sidra_pattern* pattern) {
    SIDRA_TRY(check_numbers(call, w));
    SIDRA_TRY(check_types(call, w, program));
    const uint32_t size = element_size(w.type);
    pattern->pixel_stride = w.pixel_stride != 0 ? w.pixel_stride : uint64_t{w.channels} * size;
    if (w.row_stride != 0) pattern->row_stride = w.row_stride;
    else if (__builtin_mul_overflow(pattern->pixel_stride, uint64_t{w.width}, &pattern->row_stride))
        pattern->row_stride = UINT64_MAX / size * size;
    if (w.image_stride != 0) pattern->image_stride = w.image_stride;
    else if (__builtin_mul_overflow(pattern->row_stride, uint64_t{w.height}, &pattern->image_stride))
        pattern->image_stride = UINT64_MAX / size * size;
    for (const uint64_t stride : {pattern->pixel_stride, pattern->row_stride, pattern->image_stride})
        if (stride % size != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "a stride of `windows` is {}: must be a multiple of {} ({})", stride, size, type_name(w.type));
    uint64_t bytes = uint64_t{w.channels} * size;
    for (const auto& [count, stride] : {std::pair{w.images, pattern->image_stride},
                                        {w.height, pattern->row_stride},
                                        {w.width, pattern->pixel_stride}}) {
        uint64_t reach = 0;
        if (__builtin_mul_overflow(uint64_t{count - 1}, stride, &reach) || __builtin_add_overflow(bytes, reach, &bytes))
            bytes = UINT64_MAX;
    }
    SIDRA_TRY(resolve(call, "windows.at", program.context, w.at, bytes, size, Access::kRead, &pattern->addr));
    pattern->height = w.height, pattern->width = w.width;
    pattern->kernel_h = static_cast<uint16_t>(w.kernel_h), pattern->kernel_w = static_cast<uint16_t>(w.kernel_w);
    pattern->stride_h = static_cast<uint16_t>(w.stride_h), pattern->stride_w = static_cast<uint16_t>(w.stride_w);
    pattern->pad_h = static_cast<uint16_t>(w.pad_h), pattern->pad_w = static_cast<uint16_t>(w.pad_w);
    pattern->dilation_h = static_cast<uint16_t>(w.dilation_h),
    pattern->dilation_w = static_cast<uint16_t>(w.dilation_w);
    pattern->channels = w.channels;
    pattern->type = static_cast<uint8_t>(w.type), pattern->codes = static_cast<uint8_t>(w.codes);
    pattern->zero = static_cast<int16_t>(w.zero);
    return SIDRA_OK;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_layer_async(sidra_stream* stream, sidra_weights* weights, const sidra_layer* layer) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check(call, "weights", weights));
    SIDRA_TRY(check_struct(call, "sidra_layer", layer));
    SIDRA_TRY(check_context(call, "weights", weights, stream->context));
    SIDRA_TRY(check_program(call, stream, layer->program, ProgramKind::kLayer, layer->operands, layer->operand_count));
    const sidra_program& program = *HandleTable<sidra_program>::find(parts_of(layer->program));
    if (layer->calibrate) SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
    SIDRA_TRY(check_programmed(call, *weights));
    const sidra_windows& w = layer->windows;
    sidra_pattern pattern{};
    SIDRA_TRY(make_pattern(call, program, w, &pattern));
    const uint64_t inputs = uint64_t{w.kernel_h} * w.kernel_w * w.channels;
    if (inputs != weights->k)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "a window has {} x {} x {} = {} elements, but weights {} have {} rows", w.kernel_h, w.kernel_w,
                    w.channels, inputs, weights->id, weights->k);

    // The pattern stands behind the operands.
    std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX + 1> table{};
    Operands operands_made{};
    SIDRA_TRY(make_operands(call, program, layer->operands, &operands_made));
    std::copy(operands_made.begin(), operands_made.end(), table.begin());
    const std::span operands(table.data(), program.operands);
    const Sizes before = {w.images, w.rows, w.columns, weights->k}, after = {w.images, w.rows, w.columns, weights->n};
    vector::Packet gives;
    gives.prologue = program.prologue;
    gives.sums = SIDRA_TYPE_S32;
    if (program.prologue != 0) gives.codes = pattern.codes, gives.input = pattern.type;
    vector::Traits prologue, epilogue;
    auto verdict = vector::verify(program.code(), operands, gives, &prologue, &epilogue);
    prologue.whole_rows = program.prologue != 0;
    if (!verdict && program.prologue != 0) verdict = vector::verify_space(operands, before, prologue);
    if (!verdict) verdict = vector::verify_space(operands, after, epilogue);
    const auto too_long = [](const vector::Traits& traits, uint64_t columns) {
        return traits.whole_rows && columns * traits.cost > SIDRA_LAYER_ROW_COST_MAX;
    };
    if (!verdict && (too_long(prologue, weights->k) || too_long(epilogue, weights->n)))
        verdict = {SIDRA_PROGRAM_ROW_COST};
    if (verdict) [[unlikely]]
        return refuse_call(call, program, verdict);
    for (uint32_t n = 0; n < program.operands; ++n) {
        const bool early = prologue.used() >> n & 1;
        SIDRA_TRY(check_bounds(call, program, early ? prologue : epilogue, early ? before : after, layer->operands[n],
                               n, operands[n]));
    }

    sidra_cmd packet = make_packet(SIDRA_CMD_LAYER, layer->cookie);
    packet.layer.flags = layer->calibrate ? SIDRA_CMD_MVM_CALIBRATE : 0;
    packet.layer.weights = static_cast<uint16_t>(weights->index);
    packet.layer.program = program.memory->address();
    packet.layer.size[0] = w.images, packet.layer.size[1] = w.rows, packet.layer.size[2] = w.columns;
    std::copy(std::begin(layer->param), std::end(layer->param), packet.layer.param);
    packet.layer.prologue = static_cast<uint8_t>(program.prologue);
    packet.layer.epilogue = static_cast<uint8_t>(program.instructions - program.prologue);
    packet.layer.operand_count = static_cast<uint8_t>(program.operands);
    table[program.operands] = std::bit_cast<sidra_operand>(pattern);
    SIDRA_TRY(announce(call, stream, weights));
    return submit(call, stream, packet, Recordable::kYes, nullptr, std::span(table.data(), program.operands + 1));
}
