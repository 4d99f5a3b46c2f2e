// SPDX-License-Identifier: MIT
#include "submit.h"

#include <algorithm>
#include <functional>

#include "fault.h"
#include "kept_error.h"
#include "wait.h"

namespace sidra {

sidra_status record(const char* call, sidra_stream* stream, const sidra_cmd& packet, OperandTable operands) {
    return guarded(call, [&]() -> sidra_status {
        auto& [packets, tables] = *stream->recording;
        if (packets.size() >= SIDRA_CMD_CALL_MAX)
            return fail(SIDRA_ERROR_LIMIT, call, "the graph recorded on stream {} is full: {} operations; split it",
                        stream->id, SIDRA_CMD_CALL_MAX);
        Recorded recorded{packet, {}, {}};
        stream->context->named.collect(packet, operands, &recorded.names);
        if (!operands.empty()) {
            set_table(&recorded.packet, tables.size() * sizeof(sidra_operand));
            tables.insert(tables.end(), operands.begin(), operands.end());
        }
        packets.push_back(std::move(recorded));
        return SIDRA_OK;
    });
}

sidra_status make_tables(const char* call, sidra_stream* stream) {
    return guarded(call, [&]() -> sidra_status {
        std::unique_ptr<DeviceMemory> made;
        SIDRA_TRY(DeviceMemory::create(call, stream->context, kTableBytes << stream->options.ring_log2, false, &made));
        const std::lock_guard lock(stream->lock);
        if (!stream->tables) stream->tables = std::move(made);
        return SIDRA_OK;
    });
}

sidra_status wait_for_room(const char* call, sidra_stream* stream, uint64_t latest) {
    flush(stream);
    const std::shared_ptr<Queue> queue = stream->current_queue;
    const Point room{queue, queue->epoch, queue->written.load(std::memory_order_relaxed) - queue->capacity + 1};
    const bool own = latest < stream->deadline;
    const uint64_t deadline = own ? latest : stream->deadline;
    stream->lock.unlock();
    const KeptError before;
    sidra_status status = wait_for(call, room, deadline);
    if (status == SIDRA_ERROR_TIMEOUT)
        fail(status, call,
             "the ring of stream {} is full: {} operations are queued and not done at the {} deadline{}. Nothing was "
             "queued; wait for the stream, or {}",
             stream->id, queue->capacity, own ? "call's" : "stream's",
             __atomic_load_n(&queue->state->parked, __ATOMIC_RELAXED) != 0
                 ? ", and the stream waits for a semaphore or an event"
                 : "",
             own ? "give a later one" : "give it a later deadline with sidra_stream_set_deadline()");
    if (room.state() == Point::State::kDropped) {  // there is room in the new epoch
        before.restore();
        status = SIDRA_OK;
    }
    stream->lock.lock();
    return status;
}

sidra_status refuse_stopped(const char* call, sidra_stream* stream) {
    const std::shared_ptr<Queue> queue = stream->current_queue;
    stream->lock.unlock();
    return stopped_status(call, *queue);
}

sidra_status lock_with_room(const char* call, std::span<sidra_stream*> streams, uint64_t latest) {
    std::ranges::sort(streams, std::less<>());  // one order for all threads
    const auto refuses = [](const sidra_stream* stream) {
        return stream->recording || Queue::stopped(stream->current_queue->run_state());
    };
    for (;;) {
        for (sidra_stream* stream : streams) stream->lock.lock();
        auto found = std::ranges::find_if(streams, refuses);
        if (found == streams.end())
            found = std::ranges::find_if(streams, [](sidra_stream* s) { return !has_room(*s->current_queue); });
        if (found == streams.end()) return SIDRA_OK;
        sidra_stream* const stream = *found;
        for (sidra_stream* other : streams)
            if (other != stream) other->lock.unlock();
        if (stream->recording) {
            stream->lock.unlock();
            return not_recordable(call, stream);
        }
        if (refuses(stream)) return refuse_stopped(call, stream);
        const sidra_status status = wait_for_room(call, stream, latest);
        stream->lock.unlock();
        SIDRA_TRY(status);
    }
}

}  // namespace sidra
