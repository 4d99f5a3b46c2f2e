// SPDX-License-Identifier: MIT
// Pooling: what sidra_pool_async() queues.
#include <bit>
#include <iterator>
#include <span>

#include "buffer.h"
#include "element.h"
#include "structs.h"
#include "submit.h"
#include "verify_packet.h"
#include "windows.h"

namespace sidra {
namespace {

bool averages(uint32_t op) { return op == SIDRA_POOLING_AVERAGE || op == SIDRA_POOLING_AVERAGE_ALL; }

sidra_status check_kind(const char* call, uint32_t op, const sidra_windows& w) {
    const uint32_t type = raw_value(w.type);
    if (op < SIDRA_POOLING_MAX || op > SIDRA_POOLING_AVERAGE_ALL)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "op is {}: not a sidra_pool_operation", op);
    if (averages(op) && type != SIDRA_F32 && type != SIDRA_F16 && type != SIDRA_BF16)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.type is {}: an average needs F32, F16 or BF16",
                    type_name(type));
    if (type == SIDRA_S64 || type == SIDRA_BOOL)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.type is {}: a maximum needs a type other than these",
                    type_name(type));
    const uint64_t window = uint64_t{w.kernel_h} * w.kernel_w * w.channels;
    if (window > SIDRA_CMD_POOL_WINDOW_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "a window of {} x {} pixels of {} channels has {} elements: at most {}; pool some of the channels "
                    "at a time",
                    w.kernel_h, w.kernel_w, w.channels, window, SIDRA_CMD_POOL_WINDOW_MAX);
    if (op == SIDRA_POOLING_ARGMAX && uint64_t{w.height} * w.width > uint64_t{1} << 31)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "an image of {} x {} pixels has more than an S32 can number: divide it", w.height, w.width);
    return SIDRA_OK;
}

sidra_status check_line(const char* call, const char* what, const vector::WindowLine& line) {
    uint32_t outside = 0;
    if (!line.find_outside(&outside)) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "windows.{} {} begins at pixel {} and has no pixel of the image, which has {}: it would pool padding "
                "only; sidra_windows_fit() says how many windows fit",
                what, outside, line.first(outside), line.pixels);
}

// Fills in the strides of the output; `bytes` takes the number of bytes from its first to its last.
sidra_status make_strides(const char* call, const sidra_pool& pool, uint32_t element, sidra_cmd_pool* packet,
                          uint64_t* bytes) {
    constexpr const char* kNames[] = {"images", "rows of windows", "windows"};
    const sidra_windows& w = pool.windows;
    const uint32_t size[] = {w.images, w.rows, w.columns};
    const uint64_t pixel = uint64_t{w.channels} * element;
    uint64_t dense = pixel;
    for (int d = 2; d >= 0; --d) {
        packet->out_stride[d] = pool.out_stride[d] != 0 ? pool.out_stride[d] : dense;
        packet->size[d] = size[d];
        if (packet->out_stride[d] % element != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "out_stride[{}] is {}: must be a multiple of {}", d,
                        packet->out_stride[d], element);
        if (__builtin_mul_overflow(packet->out_stride[d], uint64_t{size[d]}, &dense)) dense = UINT64_MAX / 8 * 8;
    }
    const vector::PoolResult result = vector::pool_result(packet->out_stride, packet->size, pixel);
    *bytes = result.bytes;
    if (const uint32_t d = result.overlapping; d < std::size(kNames))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "out_stride[{}] is {}: neighbouring {} would overlap, because {} bytes lie inside a step", d,
                    packet->out_stride[d], kNames[d], result.bytes);
    return SIDRA_OK;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_pool_async(sidra_stream* stream, const sidra_pool* pool) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_pool", pool));
    const sidra_windows& w = pool->windows;
    const uint32_t op = raw_value(pool->op);
    sidra_pattern pattern{};
    SIDRA_TRY(make_pattern(call, stream->context, w, &pattern));
    SIDRA_TRY(check_kind(call, op, w));
    SIDRA_TRY(check_line(call, "rows: window", vector::window_rows(pattern, w.rows)));
    SIDRA_TRY(check_line(call, "columns: window", vector::window_columns(pattern, w.columns)));

    sidra_cmd packet = make_packet(SIDRA_CMD_POOL, pool->cookie);
    const uint32_t element = op == SIDRA_POOLING_ARGMAX ? sizeof(int32_t) : element_size(pattern.type);
    uint64_t bytes = 0;
    SIDRA_TRY(make_strides(call, *pool, element, &packet.pool, &bytes));
    SIDRA_TRY(resolve(call, "out", stream->context, pool->out, bytes, element, Access::kWrite, &packet.pool.out));
    uint64_t images = 0;
    vector::pattern_bytes(pattern, w.images, &images);
    if (packet.pool.out < pattern.addr + images && pattern.addr < packet.pool.out + bytes)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "`out` (offset {}) reaches into what lies between the first and the last byte of the images "
                    "(offset {} of buffer {}), which other windows still read; store it elsewhere",
                    pool->out.offset, w.at.offset, buffer_of(w.at).id);
    packet.pool.op = static_cast<uint8_t>(op);
    const auto table = std::bit_cast<sidra_operand>(pattern);
    return submit(call, stream, packet, Recordable::kYes, nullptr, std::span(&table, 1));
}
