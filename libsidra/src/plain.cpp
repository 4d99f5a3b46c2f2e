// SPDX-License-Identifier: MIT
// Operations that move data or order execution: no-op, barrier, copy, fill, timestamp, semaphores.
#include <bit>

#include "buffer.h"
#include "copy.h"
#include "submit.h"

namespace sidra {

sidra_status make_copy(const char* call, const sidra_context* context, const sidra_ref& dst, uint64_t dst_stride,
                       const sidra_ref& src, uint64_t src_stride, uint64_t row_bytes, uint32_t rows,
                       sidra_cmd* result) {
    if (row_bytes > SIDRA_CMD_COPY_MAX || row_bytes * rows > SIDRA_CMD_COPY_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} rows of {} bytes are more than one copy can move ({}); split it", rows, row_bytes,
                    SIDRA_CMD_COPY_MAX);
    sidra_cmd packet = make_packet(SIDRA_CMD_COPY);
    SIDRA_TRY(resolve(call, "dst", context, dst, extent_of(rows, row_bytes, dst_stride), 1, Access::kWrite,
                      &packet.copy.dst));
    SIDRA_TRY(
        resolve(call, "src", context, src, extent_of(rows, row_bytes, src_stride), 1, Access::kRead, &packet.copy.src));
    if (overlap({packet.copy.dst, row_bytes, dst_stride, rows}, {packet.copy.src, row_bytes, src_stride, rows}))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "`dst` (offset {}) and `src` (offset {}) of buffer {} overlap; copy via another buffer", dst.offset,
                    src.offset, buffer_of(src).id);
    packet.copy.row_bytes = row_bytes;
    packet.copy.rows = rows;
    if (rows > 1) {
        packet.copy.dst_stride = dst_stride;
        packet.copy.src_stride = src_stride;
    }
    *result = packet;
    return SIDRA_OK;
}

namespace {

sidra_status copy_rows(const char* call, sidra_stream* stream, const sidra_ref& dst, uint64_t dst_stride,
                       const sidra_ref& src, uint64_t src_stride, uint64_t row_bytes, uint32_t rows) {
    sidra_cmd packet;
    SIDRA_TRY(make_copy(call, stream->context, dst, dst_stride, src, src_stride, row_bytes, rows, &packet));
    return submit(call, stream, packet);
}

sidra_status semaphore_async(const char* call, sidra_stream* stream, sidra_cmd_opcode opcode, const sidra_ref& word,
                             uint64_t value, Recordable recordable) {
    SIDRA_TRY(check(call, "stream", stream));
    sidra_cmd packet = make_packet(opcode);
    const Access access = opcode == SIDRA_CMD_SEM_SIGNAL ? Access::kWrite : Access::kRead;
    SIDRA_TRY(
        resolve(call, "word", stream->context, word, sizeof(uint64_t), alignof(uint64_t), access, &packet.sem.addr));
    packet.sem.value = value;
    return submit(call, stream, packet, recordable);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_nop_async(sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "stream", stream));
    return submit(__func__, stream, make_packet(SIDRA_CMD_NOP));
}

sidra_status sidra_barrier_async(sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "stream", stream));
    return submit(__func__, stream, make_packet(SIDRA_CMD_BARRIER));
}

sidra_status sidra_copy_async(sidra_stream* stream, sidra_ref dst, sidra_ref src, size_t size) {
    SIDRA_TRY(check(__func__, "stream", stream));
    if (size == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`size` is 0; a copy moves at least one byte");
    return copy_rows(__func__, stream, dst, size, src, size, size, 1);
}

sidra_status sidra_copy_2d_async(sidra_stream* stream, sidra_ref dst, size_t dst_stride, sidra_ref src,
                                 size_t src_stride, size_t row_bytes, uint32_t rows) {
    SIDRA_TRY(check(__func__, "stream", stream));
    if (row_bytes == 0 || rows == 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`{}` is 0; a copy moves at least one byte",
                    rows == 0 ? "rows" : "row_bytes");
    if (rows > 1 && (dst_stride < row_bytes || src_stride < row_bytes))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`{}` is {}: rows of {} bytes would overlap",
                    dst_stride < row_bytes ? "dst_stride" : "src_stride",
                    dst_stride < row_bytes ? dst_stride : src_stride, row_bytes);
    return copy_rows(__func__, stream, dst, dst_stride, src, src_stride, row_bytes, rows);
}

sidra_status sidra_fill_async(sidra_stream* stream, sidra_ref dst, uint64_t pattern, uint32_t pattern_size,
                              size_t size) {
    SIDRA_TRY(check(__func__, "stream", stream));
    if (!std::has_single_bit(pattern_size) || pattern_size > 8)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`pattern_size` is {}: must be 1, 2, 4 or 8", pattern_size);
    if (size == 0 || size % pattern_size != 0 || dst.offset % pattern_size != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__,
                    "offset {} and `size` {} must be multiples of `pattern_size` {}, and size not 0", dst.offset, size,
                    pattern_size);
    if (size > SIDRA_CMD_COPY_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "{} bytes are more than one fill can write ({}); split it",
                    size, SIDRA_CMD_COPY_MAX);
    sidra_cmd packet = make_packet(SIDRA_CMD_FILL);
    SIDRA_TRY(resolve(__func__, "dst", stream->context, dst, size, pattern_size, Access::kWrite, &packet.fill.dst));
    packet.fill.bytes = size;
    packet.fill.pattern = pattern_size == 8 ? pattern : pattern & ((uint64_t{1} << (pattern_size * 8)) - 1);
    packet.fill.pattern_bytes = pattern_size;
    return submit(__func__, stream, packet);
}

sidra_status sidra_timestamp_async(sidra_stream* stream, sidra_ref dst) {
    SIDRA_TRY(check(__func__, "stream", stream));
    sidra_cmd packet = make_packet(SIDRA_CMD_TIMESTAMP);
    SIDRA_TRY(resolve(__func__, "dst", stream->context, dst, sizeof(sidra_timestamp), alignof(sidra_timestamp),
                      Access::kWrite, &packet.timestamp.addr));
    return submit(__func__, stream, packet);
}

sidra_status sidra_semaphore_signal_async(sidra_stream* stream, sidra_ref word, uint64_t value) {
    return semaphore_async(__func__, stream, SIDRA_CMD_SEM_SIGNAL, word, value, Recordable::kYes);
}

sidra_status sidra_semaphore_wait_async(sidra_stream* stream, sidra_ref word, uint64_t value) {
    return semaphore_async(__func__, stream, SIDRA_CMD_SEM_WAIT, word, value, Recordable::kNo);
}

sidra_status sidra_semaphore_signal(sidra_context* context, sidra_ref word, uint64_t value) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        uint64_t address = 0;
        SIDRA_TRY(resolve(call, "word", context, word, sizeof(uint64_t), alignof(uint64_t), Access::kWrite, &address));
        auto* host = reinterpret_cast<uint64_t*>(buffer_of(word).host + word.offset);
        uint64_t now = __atomic_load_n(host, __ATOMIC_RELAXED);
        while (now < value &&
               !__atomic_compare_exchange_n(host, &now, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        // The chip checks a parked wait again when its queue's doorbell rings. The library does not know which queues
        // wait for this word, so it rings all.
        const std::lock_guard lock(context->mutex);
        for (const sidra_stream* stream : context->streams) {
            const Queue& queue = *stream->current_queue;
            if (!Queue::stopped(queue.run_state())) queue.transport->ring(queue.doorbell);
        }
        return SIDRA_OK;
    });
}
