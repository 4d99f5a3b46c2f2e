// SPDX-License-Identifier: MIT
#include <cmath>

#include "buffer.h"
#include "element.h"
#include "label.h"
#include "structs.h"
#include "submit.h"
#include "weights.h"

namespace sidra {
namespace {

bool is_code(uint32_t type) { return type == SIDRA_U8 || type == SIDRA_S8; }

// Whether a factor is absent (0), or finite and positive with a finite inverse.
bool usable_factor(float factor) {
    return factor == 0.0f || (std::isfinite(factor) && factor > 0.0f && std::isfinite(1.0f / factor));
}

sidra_status check_types(const char* call, const sidra_mvm& mvm) {
    const uint32_t in = raw_value(mvm.in_type), out = raw_value(mvm.out_type);
    if (!is_code(in) && in != SIDRA_F32)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "in_type is {}: must be U8, S8 or F32", type_name(in));
    if (!is_code(out) && out != SIDRA_S32 && out != SIDRA_F32)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "out_type is {}: must be S32, S8, U8 or F32", type_name(out));
    if (mvm.batch == 0 || mvm.batch > SIDRA_CMD_BATCH_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "batch is {}: must be 1..{}; split larger ones", mvm.batch,
                    SIDRA_CMD_BATCH_MAX);
    return SIDRA_OK;
}

sidra_status check_numbers(const char* call, const sidra_mvm& mvm) {
    const uint32_t in = raw_value(mvm.in_type), out = raw_value(mvm.out_type);
    if (!usable_factor(mvm.in_scale))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "in_scale is {}: it must be positive and finite, and so must 1 / in_scale", mvm.in_scale);
    if (!usable_factor(mvm.out_scale))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "out_scale is {}: it must be positive and finite, and so must 1 / out_scale", mvm.out_scale);
    // Without a scale, float values would be rounded to integers, and sums would saturate: require an explicit choice.
    if (mvm.in_scale == 0.0f && in == SIDRA_F32)
        return fail(
            SIDRA_ERROR_INVALID_ARGUMENT, call,
            "in_scale is 0, but F32 input needs one: the chip computes with codes 0..255, and in_scale is the real "
            "number that one code step stands for (for inputs in 0..1: 1.0f / 255, with in_zero 0)");
    if (mvm.out_scale == 0.0f && is_code(out))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "out_scale is 0, but {} output needs one: it is the real number that one step of an output code "
                    "stands for",
                    type_name(out));
    if (mvm.in_scale != 0.0f && is_code(in) && out == SIDRA_S32)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "in_scale has no meaning with {} input and S32 output; leave it 0", type_name(in));
    if (mvm.out_scale != 0.0f && !is_code(out))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "out_scale has no meaning with {} output; leave it 0",
                    type_name(out));
    const uint32_t codes = in == SIDRA_F32 ? uint32_t{SIDRA_U8} : in;
    if (mvm.in_zero < code_min(codes) || mvm.in_zero > code_max(codes))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "in_zero is {}: must be {}..{} with {} input", mvm.in_zero,
                    code_min(codes), code_max(codes), type_name(in));
    if (is_code(out) ? mvm.out_zero < code_min(out) || mvm.out_zero > code_max(out) : mvm.out_zero != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "out_zero is {}: must be {} with {} output", mvm.out_zero,
                    out == SIDRA_S8 ? "-128..127" : (out == SIDRA_U8 ? "0..255" : "0"), type_name(out));
    return SIDRA_OK;
}

sidra_status multiply(const char* call, sidra_stream* stream, sidra_weights* weights, const sidra_mvm* mvm,
                      uint8_t flags, Recordable recordable = Recordable::kYes, Point* point = nullptr) {
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check(call, "weights", weights));
    SIDRA_TRY(check_struct(call, "sidra_mvm", mvm));
    const sidra_context* context = stream->context;
    SIDRA_TRY(check_context(call, "weights", weights, context));
    SIDRA_TRY(check_types(call, *mvm));
    SIDRA_TRY(check_numbers(call, *mvm));
    if (flags & SIDRA_CMD_MVM_CALIBRATE) SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
    SIDRA_TRY(check_programmed(call, *weights));

    sidra_cmd packet = make_packet(SIDRA_CMD_MVM, mvm->cookie);
    packet.mvm.flags = flags;
    const uint32_t in_element = element_size(mvm->in_type), out_element = element_size(mvm->out_type);
    const uint64_t in_bytes = uint64_t{weights->k} * in_element, out_bytes = uint64_t{weights->n} * out_element;
    SIDRA_TRY(check_stride(call, "in_stride", mvm->in_stride, in_bytes, in_element, &packet.mvm.in_stride));
    SIDRA_TRY(check_stride(call, "out_stride", mvm->out_stride, out_bytes, out_element, &packet.mvm.out_stride));
    SIDRA_TRY(resolve(call, "in", context, mvm->in, extent_of(mvm->batch, in_bytes, packet.mvm.in_stride), in_element,
                      Access::kRead, &packet.mvm.in));
    SIDRA_TRY(resolve(call, "out", context, mvm->out, extent_of(mvm->batch, out_bytes, packet.mvm.out_stride),
                      out_element, Access::kWrite, &packet.mvm.out));
    if (overlap({packet.mvm.in, in_bytes, packet.mvm.in_stride, mvm->batch},
                {packet.mvm.out, out_bytes, packet.mvm.out_stride, mvm->batch}))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`in` (offset {}) and `out` (offset {}) of buffer {} overlap",
                    mvm->in.offset, mvm->out.offset, buffer_of(mvm->in).id);
    if (mvm->bias.buffer != nullptr)
        SIDRA_TRY(resolve(call, "bias", context, mvm->bias, uint64_t{weights->n} * sizeof(int32_t), alignof(int32_t),
                          Access::kRead, &packet.mvm.bias));
    else if (mvm->bias.offset != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "bias.offset is {}, but bias.buffer is NULL", mvm->bias.offset);

    packet.mvm.types = SIDRA_MVM_TYPES(static_cast<uint32_t>(mvm->in_type), static_cast<uint32_t>(mvm->out_type));
    packet.mvm.weights = static_cast<uint16_t>(weights->index);
    packet.mvm.in_zero = static_cast<int16_t>(mvm->in_zero);
    packet.mvm.out_zero = static_cast<uint8_t>(mvm->out_zero);
    packet.mvm.batch = mvm->batch;
    packet.mvm.in_scale = factor_bits(mvm->in_scale);
    if (mvm->out_type != SIDRA_S32) packet.mvm.scale = weights->scale_address;
    if (mvm->out_scale != 0.0f) packet.mvm.out_factor = factor_bits(1.0f / mvm->out_scale);
    SIDRA_TRY(announce(call, stream, weights));
    return submit(call, stream, packet, recordable, point);
}

}  // namespace

sidra_status queue_calibration(const char* call, sidra_stream* stream, sidra_weights* weights, const sidra_mvm& mvm,
                               Point* point) {
    return multiply(call, stream, weights, &mvm, SIDRA_CMD_MVM_CALIBRATE, Recordable::kNo, point);
}

}  // namespace sidra

sidra_status sidra_mvm_async(sidra_stream* stream, sidra_weights* weights, const sidra_mvm* mvm) {
    return sidra::multiply(__func__, stream, weights, mvm, 0);
}

sidra_status sidra_weights_calibrate_async(sidra_stream* stream, sidra_weights* weights, const sidra_mvm* mvm) {
    return sidra::multiply(__func__, stream, weights, mvm, SIDRA_CMD_MVM_CALIBRATE);
}
