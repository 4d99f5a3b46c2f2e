// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <iterator>

#include "buffer.h"
#include "fault.h"
#include "kept_error.h"
#include "stamp.h"
#include "submit.h"
#include "wait.h"

struct sidra_event : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kEvent;

    sidra_context* context = nullptr;
    bool timing = false;
    sidra::SpinLock lock;  // protects the members below
    sidra::Point point;    // without a queue: never recorded
    sidra::Stamp stamp;    // written by the packet before the point, if `timing`
};

namespace sidra {
namespace {

Point point_of(sidra_event* event) {
    const std::lock_guard lock(event->lock);
    return event->point;
}

sidra_status record_time(const char* call, sidra_event* event, sidra_stream* stream) {
    StampPool& stamps = *event->context->stamps;
    Stamp stamp;
    SIDRA_TRY(stamps.take(call, event->context, &stamp));
    sidra_cmd packet = make_packet(SIDRA_CMD_TIMESTAMP);
    packet.timestamp.addr = stamp.address;
    Point point;
    if (const sidra_status status = submit(call, stream, packet, Recordable::kNo, &point); status != SIDRA_OK) {
        stamps.give(stamp, {});
        return status;
    }
    {
        const std::lock_guard lock(stream->lock);
        flush(stream);
    }
    {
        const std::lock_guard lock(event->lock);
        std::swap(event->point, point);
        std::swap(event->stamp, stamp);
    }
    if (point.queue) stamps.give(stamp, point);
    return SIDRA_OK;
}

// The point of a timing event and what the device noted there.
sidra_status read_time(const char* call, const char* name, sidra_event* event, Point* point, sidra_timestamp* time) {
    if (!event->timing)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "`{}` (event {}) has no times; create it with SIDRA_EVENT_TIMING", name, event->id);
    Point::State state = Point::State::kPending;
    {
        // Under the lock: another record would give the place of the timestamp away.
        const std::lock_guard lock(event->lock);
        *point = event->point;
        if (point->queue) state = point->state();
        if (state == Point::State::kReached) std::memcpy(time, event->stamp.host, sizeof *time);
    }
    if (!point->queue)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "`{}` (event {}) was never recorded; sidra_event_record() first", name, event->id);
    switch (state) {
        case Point::State::kPending:
            return fail(SIDRA_ERROR_NOT_READY, call,
                        "stream {} has not reached `{}` (event {}) yet; sidra_event_synchronize() waits for it",
                        point->queue->stream_id, name, event->id);
        case Point::State::kStopped:
            return stopped_status(call, *point->queue);
        case Point::State::kDropped:
            return dropped_status(call, *point);
        default:
            return SIDRA_OK;
    }
}

struct Interval {
    sidra_timestamp start, end;
    Point from, to;
};

sidra_status read_interval(const char* call, sidra_event* start, sidra_event* end, Interval* interval) {
    SIDRA_TRY(check(call, "start", start));
    SIDRA_TRY(check(call, "end", end));
    SIDRA_TRY(read_time(call, "start", start, &interval->from, &interval->start));
    SIDRA_TRY(read_time(call, "end", end, &interval->to, &interval->end));
    const sidra_device &a = *start->context->device, &b = *end->context->device;
    if (&a == &b || std::equal(std::begin(a.info.uuid), std::end(a.info.uuid), std::begin(b.info.uuid)))
        return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "`start` (event {}) and `end` (event {}) are of different devices, which have clocks of their own; "
                "sidra_device_clock() relates each one to CLOCK_MONOTONIC",
                start->id, end->id);
}

}  // namespace

sidra_cmd wait_packet(const Point& point) {
    sidra_cmd packet = make_packet(SIDRA_CMD_SEM_WAIT);
    packet.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    packet.sem.queue = point.queue->number;
    packet.sem.epoch = point.epoch->number;
    packet.sem.value = point.value;
    return packet;
}

sidra_status wait_point(const char* call, sidra_stream* stream, const Point& point) {
    switch (point.state()) {
        case Point::State::kReached:
            return SIDRA_OK;
        case Point::State::kDropped:
            return dropped_status(call, point);
        case Point::State::kStopped:
            return stopped_status(call, *point.queue);  // the wait would never end
        case Point::State::kPending:
            break;
    }
    if (point.queue.get() == stream->queue.load(std::memory_order_acquire))
        return SIDRA_OK;  // same queue, so already in order
    return submit(call, stream, wait_packet(point), Recordable::kNo);
}

sidra_status wait_if_pending(const char* call, sidra_stream* stream, const Point& point) {
    if (!point.queue || point.state() != Point::State::kPending) return SIDRA_OK;
    const KeptError before;
    const sidra_status status = wait_point(call, stream, point);
    if (point.state() == Point::State::kPending) return status;
    before.restore();  // it may have failed meanwhile
    return SIDRA_OK;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_event_create(sidra_context* context, uint32_t flags, sidra_event** event) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (event == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`event` is NULL; it takes the new handle");
        if ((flags & ~uint32_t{SIDRA_EVENT_TIMING}) != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`flags` has unknown bits ({:#x}); see sidra_event_flags",
                        flags);
        sidra_event* made = make_object<sidra_event>(context);
        made->timing = (flags & SIDRA_EVENT_TIMING) != 0;
        *event = handle_of(made);
        return SIDRA_OK;
    });
}

sidra_status sidra_event_destroy(sidra_event* event) {
    if (event == nullptr) return SIDRA_OK;
    Claim<sidra_event> claim;
    SIDRA_TRY(claim.take(__func__, "event", event));
    if (event->timing && event->point.queue && !forked(*event))
        event->context->stamps->give(event->stamp, event->point);
    destroy_object(event, claim);
    return SIDRA_OK;
}

sidra_status sidra_event_record(sidra_event* event, sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "event", event));
    SIDRA_TRY(check(__func__, "stream", stream));
    SIDRA_TRY(check_context(__func__, "event", event, stream->context));
    if (event->timing) return guarded(__func__, [&, call = __func__] { return record_time(call, event, stream); });
    Point point;
    SIDRA_TRY(current_point(__func__, stream, &point));
    const std::lock_guard lock(event->lock);
    std::swap(event->point, point);
    return SIDRA_OK;
}

sidra_status sidra_event_query(sidra_event* event) {
    SIDRA_TRY(check(__func__, "event", event));
    const Point point = point_of(event);
    if (!point.queue) return SIDRA_OK;
    switch (point.state()) {
        case Point::State::kPending:
            return not_ready("sidra_event_query: what the event stands for is not done yet; ask again, or wait");
        case Point::State::kStopped:
            return stopped_status(__func__, *point.queue);
        case Point::State::kDropped:
            return dropped_status(__func__, point);
        default:
            return SIDRA_OK;
    }
}

sidra_status sidra_event_synchronize(sidra_event* event, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "event", event));
        const Point point = point_of(event);
        return point.queue ? wait_for(call, point, deadline) : SIDRA_OK;
    });
}

sidra_status sidra_event_elapsed(sidra_event* start, sidra_event* end, int64_t* ns) {
    if (ns == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`ns` is NULL; it takes the result");
    Interval interval;
    SIDRA_TRY(read_interval(__func__, start, end, &interval));
    *ns = static_cast<int64_t>(interval.end.clock_ns - interval.start.clock_ns);
    return SIDRA_OK;
}

sidra_status sidra_event_time(sidra_event* event, uint64_t* device_ns) {
    SIDRA_TRY(check(__func__, "event", event));
    if (device_ns == nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`device_ns` is NULL; it takes the result");
    Point point;
    sidra_timestamp time;
    SIDRA_TRY(read_time(__func__, "event", event, &point, &time));
    *device_ns = time.clock_ns;
    return SIDRA_OK;
}

sidra_status sidra_event_cost(sidra_event* start, sidra_event* end, uint64_t* picoseconds, uint64_t* picojoules) {
    Interval interval;
    SIDRA_TRY(read_interval(__func__, start, end, &interval));
    const Queue &from = *interval.from.queue, &to = *interval.to.queue;
    if (&from != &to)  // each queue counts for itself
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__,
                    "`start` was recorded on stream {} and `end` on stream {}{}; costs are of one stream",
                    from.stream_id, to.stream_id,
                    from.stream_id == to.stream_id ? " after its context was recovered" : "");
    if (interval.end.sequence < interval.start.sequence)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__,
                    "stream {} reached `end` before `start`; record them in the other order", from.stream_id);
    if (picoseconds != nullptr) *picoseconds = interval.end.device_ps - interval.start.device_ps;
    if (picojoules != nullptr) *picojoules = interval.end.energy_pj - interval.start.energy_pj;
    return SIDRA_OK;
}

sidra_status sidra_stream_wait_event(sidra_stream* stream, sidra_event* event) {
    SIDRA_TRY(check(__func__, "stream", stream));
    SIDRA_TRY(check(__func__, "event", event));
    SIDRA_TRY(check_context(__func__, "event", event, stream->context));
    const Point point = point_of(event);
    if (const std::lock_guard lock(stream->lock); stream->recording) return not_recordable(__func__, stream);
    return point.queue ? wait_point(__func__, stream, point) : SIDRA_OK;
}
