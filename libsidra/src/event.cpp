// SPDX-License-Identifier: MIT
#include "buffer.h"
#include "fault.h"
#include "submit.h"
#include "wait.h"

struct sidra_event : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kEvent;

    sidra_context* context = nullptr;
    sidra::SpinLock lock;  // protects point
    sidra::Point point;    // without a queue: never recorded
};

namespace sidra {
namespace {

Point point_of(sidra_event* event) {
    const std::lock_guard lock(event->lock);
    return event->point;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_event_create(sidra_context* context, sidra_event** event) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (event == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`event` is NULL; it takes the new handle");
        *event = handle_of(make_object<sidra_event>(context));
        return SIDRA_OK;
    });
}

sidra_status sidra_event_destroy(sidra_event* event) {
    if (event == nullptr) return SIDRA_OK;
    Claim<sidra_event> claim;
    SIDRA_TRY(claim.take(__func__, "event", event));
    destroy_object(event, claim);
    return SIDRA_OK;
}

sidra_status sidra_event_record(sidra_event* event, sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "event", event));
    SIDRA_TRY(check(__func__, "stream", stream));
    SIDRA_TRY(check_context(__func__, "event", event, stream->context));
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

sidra_status sidra_stream_wait_event(sidra_stream* stream, sidra_event* event) {
    SIDRA_TRY(check(__func__, "stream", stream));
    SIDRA_TRY(check(__func__, "event", event));
    SIDRA_TRY(check_context(__func__, "event", event, stream->context));
    const Point point = point_of(event);
    if (const std::lock_guard lock(stream->lock); stream->recording) return not_recordable(__func__, stream);
    if (!point.queue) return SIDRA_OK;
    switch (point.state()) {
        case Point::State::kReached:
            return SIDRA_OK;
        case Point::State::kDropped:
            return dropped_status(__func__, point);
        case Point::State::kStopped:
            return stopped_status(__func__, *point.queue);  // the wait would never end
        case Point::State::kPending:
            break;
    }
    if (point.queue.get() == stream->queue.load(std::memory_order_acquire))
        return SIDRA_OK;  // same queue, so already in order
    sidra_cmd packet = make_packet(SIDRA_CMD_SEM_WAIT);
    packet.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    packet.sem.queue = point.queue->number;
    packet.sem.epoch = point.epoch->number;
    packet.sem.value = point.value;
    return submit(__func__, stream, packet, Recordable::kNo);
}
