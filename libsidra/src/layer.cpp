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
#include "verify_packet.h"
#include "weights.h"
#include "windows.h"

namespace sidra {
namespace {

sidra_status check_codes(const char* call, const sidra_windows& w, const VectorProgram& program,
                         sidra_pattern* pattern) {
    if (w.kernel_h * w.kernel_w > SIDRA_LAYER_KERNEL_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "a kernel of {} x {} has more than {} pixels", w.kernel_h,
                    w.kernel_w, SIDRA_LAYER_KERNEL_MAX);
    const uint32_t type = raw_value(w.type), codes = raw_value(w.codes);
    if (codes != SIDRA_U8 && codes != SIDRA_S8)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.codes is {}: must be U8 or S8", type_name(codes));
    if (w.zero < code_min(codes) || w.zero > code_max(codes))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.zero is {}: must be {}..{} with codes of {}", w.zero,
                    code_min(codes), code_max(codes), type_name(codes));
    if (program.rules().prologue == 0 && type != codes)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "windows.type is {} and windows.codes is {}: without a prologue they must be the same, because "
                    "nothing makes codes of the input",
                    type_name(type), type_name(codes));
    pattern->codes = static_cast<uint8_t>(codes);
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
    sidra_program* handle = layer->program;
    SIDRA_TRY(check(call, "program", handle));
    SIDRA_TRY(check_context(call, "program", handle, stream->context));
    const VectorProgram& program = handle->program;
    SIDRA_TRY(check_program(call, program, ProgramKind::kLayer, layer->operands, layer->operand_count));
    if (layer->calibrate) SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
    SIDRA_TRY(check_programmed(call, *weights));
    const sidra_windows& w = layer->windows;
    sidra_pattern pattern{};
    SIDRA_TRY(make_pattern(call, stream->context, w, &pattern));
    SIDRA_TRY(check_codes(call, w, program, &pattern));
    const uint64_t inputs = uint64_t{w.kernel_h} * w.kernel_w * w.channels;
    if (inputs != weights->k)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "a window has {} x {} x {} = {} elements, but weights {} have {} rows", w.kernel_h, w.kernel_w,
                    w.channels, inputs, weights->id, weights->k);

    // The pattern stands behind the operands.
    std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX + 1> table{};
    const std::span operands(table.data(), program.operands());
    SIDRA_TRY(make_operands(call, stream->context, program, layer->operands, operands));
    auto rules =
        vector::layer_rules(pattern, {w.images, w.rows, w.columns}, program.rules().prologue, weights->k, weights->n);
    auto verdict = program.verify(operands, rules.packet, &rules.prologue, &rules.epilogue);
    if (!verdict) verdict = vector::verify_layer_space(operands, pattern, &rules);
    if (verdict) [[unlikely]] {
        if (rules.overlapped == vector::kNothing) return refuse_call(call, program, verdict);
        return refuse_overlap(
            call, verdict.operand,
            rules.overlapped == vector::kWindows ? "the images of `windows`" : kOperandNames[rules.overlapped].operand);
    }
    for (uint32_t n = 0; n < program.operands(); ++n) {
        const bool early = (rules.prologue.used() >> n & 1) != 0;
        SIDRA_TRY(check_bounds(call, program, early ? rules.prologue : rules.epilogue,
                               early ? rules.before : rules.after, call_operand(layer->operands, n), n, operands[n]));
    }

    sidra_cmd packet = make_packet(SIDRA_CMD_LAYER, layer->cookie);
    packet.layer.flags = layer->calibrate ? SIDRA_CMD_MVM_CALIBRATE : 0;
    packet.layer.weights = static_cast<uint16_t>(weights->index);
    packet.layer.program = program.address();
    packet.layer.size[0] = w.images, packet.layer.size[1] = w.rows, packet.layer.size[2] = w.columns;
    std::copy(std::begin(layer->param), std::end(layer->param), packet.layer.param);
    packet.layer.prologue = static_cast<uint8_t>(program.rules().prologue);
    packet.layer.epilogue = static_cast<uint8_t>(program.instructions() - program.rules().prologue);
    packet.layer.operand_count = static_cast<uint8_t>(program.operands());
    table[program.operands()] = std::bit_cast<sidra_operand>(pattern);
    SIDRA_TRY(announce(call, stream, weights));
    return submit(call, stream, packet, Recordable::kYes, nullptr, std::span(table.data(), program.operands() + 1));
}
