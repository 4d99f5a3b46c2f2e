// SPDX-License-Identifier: MIT
#include "stream.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include "callback.h"
#include "fault.h"
#include "program.h"
#include "structs.h"
#include "submit.h"
#include "wait.h"

namespace sidra {
namespace {

constexpr uint32_t kRingPacketsDefault = 1024;

// Reads the queue's accumulated cost. The chip writes the timeline last, so equal timelines before and after mean a
// consistent result.
void read_cost(const Queue& queue, uint64_t* device_ps, uint64_t* energy_pj) {
    for (;;) {
        const uint64_t before = queue.timeline();
        *device_ps = __atomic_load_n(&queue.state->device_ps, __ATOMIC_ACQUIRE);
        *energy_pj = __atomic_load_n(&queue.state->energy_pj, __ATOMIC_ACQUIRE);
        if (queue.timeline() == before) return;
        cpu_relax();
    }
}

sidra_status read_options(const char* call, const sidra_stream_options* options, QueueOptions* result) {
    uint32_t ring_packets = kRingPacketsDefault;
    QueueOptions whole;
    if (options != nullptr) {
        SIDRA_TRY(check_struct(call, "sidra_stream_options", options));
        const uint32_t priority = raw_value(options->priority);
        if (priority > SIDRA_PRIORITY_HIGH)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.priority is {}: not a sidra_priority", priority);
        if (options->ring_packets != 0) ring_packets = options->ring_packets;
        whole.priority = priority;
        whole.reports = options->reports;
    }
    constexpr uint32_t kMin = 1u << SIDRA_QUEUE_LOG2_MIN;
    constexpr uint32_t kMax = 1u << SIDRA_QUEUE_LOG2_MAX;
    if (!std::has_single_bit(ring_packets) || ring_packets < kMin || ring_packets > kMax)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "options.ring_packets is {}: must be a power of two {}..{}, or 0 for {}", ring_packets, kMin, kMax,
                    kRingPacketsDefault);
    whole.ring_log2 = static_cast<uint32_t>(std::countr_zero(ring_packets));
    *result = whole;
    return SIDRA_OK;
}

void adopt_queue(sidra_stream* stream, std::shared_ptr<Queue> queue) {
    queue->stream_id = stream->id;
    name_epoch(stream->context, queue->epoch->number, {.stream = stream->id});
    stream->queue.store(queue.get(), std::memory_order_release);
    stream->current_queue = std::move(queue);
}

// Ends the epoch of the stream's queue, and releases the staged copies of queued operations; reap() was called before.
// An open batch or recording stays open; the caller ends it. The lock and the callbacks are held; the result must be
// destroyed after the lock is released.
[[nodiscard]] std::list<Deferred> drop_work(sidra_stream* stream, Epoch::End how, uint64_t retired,
                                            const sidra_fault& fault) {
    stream->current_queue->end_epoch(how, retired, fault);
    stream->deferred_count.store(0, std::memory_order_relaxed);
    return std::exchange(stream->deferred, {});
}

std::unique_lock<std::mutex> hold_callbacks(const std::shared_ptr<CallbackThread>& callbacks) {
    return callbacks ? callbacks->hold() : std::unique_lock<std::mutex>();
}

}  // namespace

sidra_status find_callbacks(const char* call, sidra_context* context, std::shared_ptr<CallbackThread>* callbacks) {
    const std::lock_guard lock(context->mutex);
    try {
        if (!context->callbacks) context->callbacks = std::make_shared<CallbackThread>();
    } catch (const std::system_error& error) {
        return fail_errno(call, -error.code().value(),
                          fmt::format("making the thread for the callbacks of context {}", context->id), error.what(),
                          {{EAGAIN, SIDRA_ERROR_LIMIT}});  // from std::thread, whichever resource is exhausted
    }
    *callbacks = context->callbacks;
    return SIDRA_OK;
}

void reap_slow(sidra_stream* stream) {
    std::list<Deferred> done;
    {
        const std::lock_guard lock(stream->lock);
        const uint64_t timeline = stream->current_queue->timeline();
        auto& deferred = stream->deferred;
        const auto end = std::find_if(deferred.begin(), deferred.end(),
                                      [&](const Deferred& entry) { return entry.value > timeline; });
        done.splice(done.end(), deferred, deferred.begin(), end);
        stream->deferred_count.store(static_cast<uint32_t>(deferred.size()), std::memory_order_relaxed);
    }
    for (Deferred& entry : done) entry.staging->release();  // without the lock, because it calls the driver
}

void defer(sidra_stream* stream, const Point& point, std::list<Deferred> wrapped) noexcept {
    wrapped.front().value = point.value;
    const std::lock_guard lock(stream->lock);
    if (point.epoch->ended()) return;
    auto& deferred = stream->deferred;  // two threads may arrive here in reverse order
    auto at = deferred.end();
    while (at != deferred.begin() && std::prev(at)->value > point.value) --at;
    deferred.splice(at, wrapped);
    stream->deferred_count.store(static_cast<uint32_t>(deferred.size()), std::memory_order_relaxed);
}

Point present_point(sidra_stream* stream) {
    flush(stream);
    const std::shared_ptr<Queue>& queue = stream->current_queue;
    return {queue, queue->epoch, queue->written.load(std::memory_order_relaxed)};
}

sidra_status current_point(const char* call, sidra_stream* stream, Point* point) {
    const std::lock_guard lock(stream->lock);
    if (stream->recording) return not_recordable(call, stream);
    *point = present_point(stream);
    return SIDRA_OK;
}

std::vector<Point> work_of(sidra_context* context) {
    std::vector<Point> work;
    const std::lock_guard lock(context->mutex);
    for (sidra_stream* stream : context->streams) {
        Point& point = work.emplace_back();
        const std::lock_guard stream_lock(stream->lock);
        point = present_point(stream);
    }
    return work;
}

sidra_status not_recordable(const char* call, const sidra_stream* stream) {
    return fail(SIDRA_ERROR_NOT_RECORDABLE, call,
                "stream {} is recording a graph, and this cannot be part of one; sidra_graph_end() first", stream->id);
}

sidra_status renew_queue(const char* call, sidra_stream* stream) {
    std::shared_ptr<Queue> queue;
    SIDRA_TRY(Queue::create(call, stream->context, stream->options, &queue));
    reap(stream);
    {
        const std::lock_guard lock(stream->fd_mutex);
        stream->armed_value = 0;
    }
    const std::shared_ptr<CallbackThread>& callbacks = stream->context->callbacks;
    std::list<Deferred> dropped;
    const auto held = hold_callbacks(callbacks);
    const std::lock_guard lock(stream->lock);
    dropped = drop_work(stream, Epoch::End::kLost, stream->current_queue->timeline(), {});
    uint64_t device_ps = 0, energy_pj = 0;
    read_cost(*stream->current_queue, &device_ps, &energy_pj);
    stream->former_device_ps += device_ps;
    stream->former_energy_pj += energy_pj;
    stream->former_queues.push_back(stream->current_queue);
    adopt_queue(stream, std::move(queue));
    return SIDRA_OK;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_stream_create(sidra_context* context, const sidra_stream_options* options, sidra_stream** stream) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (stream == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`stream` is NULL; it takes the new handle");
        QueueOptions whole;
        SIDRA_TRY(read_options(call, options, &whole));
        // A recovery must know the queue from the first, because the driver drops it, and gives its number to others.
        const std::lock_guard lock(context->mutex);
        std::shared_ptr<Queue> queue;
        SIDRA_TRY(Queue::create(call, context, whole, &queue));
        context->streams.reserve(context->streams.size() + 1);
        Making<sidra_stream> made(context);
        made->options = whole;
        adopt_queue(&*made, std::move(queue));
        context->streams.push_back(&*made);
        *stream = handle_of(made.finish());
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_set_deadline(sidra_stream* stream, uint64_t deadline) {
    SIDRA_TRY(check(__func__, "stream", stream));
    const std::lock_guard lock(stream->lock);
    stream->deadline = deadline;
    return SIDRA_OK;
}

sidra_status sidra_stream_destroy(sidra_stream* stream) {
    if (stream == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_stream> claim;
        SIDRA_TRY(claim.take(call, "stream", stream));
        if (!forked(*stream)) {
            sidra_context* context = stream->context;
            std::shared_ptr<CallbackThread> callbacks;
            std::list<Deferred> dropped;
            {
                // A recovery would take the destroyed queue for one that was lost.
                const std::lock_guard context_lock(context->mutex);
                callbacks = context->callbacks;
                const auto held = hold_callbacks(callbacks);
                const sidra_fault fault = stream->current_queue->fault_record();
                SIDRA_TRY(stream->current_queue->destroy(call));
                reap(stream);
                const std::lock_guard lock(stream->lock);
                dropped = drop_work(stream, Epoch::End::kDestroyed, stream->current_queue->timeline(), fault);
                std::erase(context->streams, stream);
            }
            if (callbacks) callbacks->drain(stream->current_queue.get());
        }
        if (stream->fd >= 0) close(stream->fd);
        destroy_object(stream, claim);
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_synchronize(sidra_stream* stream, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        Point point;
        SIDRA_TRY(current_point(call, stream, &point));
        SIDRA_TRY(wait_for(call, point, deadline));
        reap(stream);
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_query(sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "stream", stream));
    const Queue& queue = *stream->queue.load(std::memory_order_acquire);
    const uint32_t epoch = queue.current_epoch.load(std::memory_order_acquire);
    const uint64_t written = queue.written.load(std::memory_order_relaxed);
    if (queue.reached(epoch, written)) {
        reap(stream);
        return SIDRA_OK;
    }
    if (Queue::stopped(queue.run_state()) && !queue.reached(epoch, written)) return stopped_status(__func__, queue);
    return not_ready("sidra_stream_query: not all of the stream's operations are done yet; ask again, or wait");
}

sidra_status sidra_stream_timeline(sidra_stream* stream, uint64_t* submitted, uint64_t* completed) {
    SIDRA_TRY(check(__func__, "stream", stream));
    const Queue& queue = *stream->queue.load(std::memory_order_acquire);
    const uint64_t done = queue.timeline();  // read first, so that it is not larger than the other value
    if (submitted != nullptr) *submitted = queue.written.load(std::memory_order_relaxed);
    if (completed != nullptr) *completed = done;
    return SIDRA_OK;
}

sidra_status sidra_stream_device_time(sidra_stream* stream, uint64_t* picoseconds, uint64_t* picojoules) {
    SIDRA_TRY(check(__func__, "stream", stream));
    uint64_t device_ps = 0, energy_pj = 0;
    {
        const std::lock_guard lock(stream->lock);
        read_cost(*stream->current_queue, &device_ps, &energy_pj);
        device_ps += stream->former_device_ps;
        energy_pj += stream->former_energy_pj;
    }
    if (picoseconds != nullptr) *picoseconds = device_ps;
    if (picojoules != nullptr) *picojoules = energy_pj;
    return SIDRA_OK;
}

sidra_status sidra_stream_get_fd(sidra_stream* stream, int* fd) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        if (fd == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`fd` is NULL");
        std::shared_ptr<CallbackThread> callbacks;
        {
            const std::lock_guard lock(stream->context->mutex);
            callbacks = stream->context->callbacks;
        }
        const std::lock_guard lock(stream->fd_mutex);
        Point point;  // under the mutex: of two threads, the one that arms last must have the later point
        SIDRA_TRY(current_point(call, stream, &point));
        if (stream->fd < 0) {
            stream->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
            if (stream->fd < 0)
                return fail_errno(call, -errno, "creating an eventfd", {},
                                  {{EMFILE, SIDRA_ERROR_LIMIT}, {ENFILE, SIDRA_ERROR_LIMIT}});
        }
        sidra_ioctl_arm arm{};
        arm.context = stream->context->number;
        arm.queue = point.queue->number;
        if (stream->armed_value != 0) {  // the old arming must not signal for the new value
            arm.value = stream->armed_value;
            arm.epoch = point.epoch->number;
            arm.eventfd = -1;
            request(*stream->context->transport, SIDRA_IOCTL_ARM, &arm, nullptr);
            if (callbacks) callbacks->disarmed(point.queue.get(), stream->armed_value);
            stream->armed_value = 0;
        }
        uint64_t count = 0;
        while (read(stream->fd, &count, sizeof count) > 0) {
        }
        std::string detail;
        arm.value = point.value;
        arm.epoch = point.epoch->number;
        arm.eventfd = stream->fd;
        const int error = request(*stream->context->transport, SIDRA_IOCTL_ARM, &arm, &detail);
        if (error == -ESTALE || error == -ENODEV || error == -EIO || error == -ECANCELED) {
            count = 1;  // stopped permanently: readable at once, as documented
            if (write(stream->fd, &count, sizeof count) < 0)
                return fail_errno(call, -errno, "signalling an eventfd", {});
        } else if (error != 0) {
            return fail_errno(
                call, error,
                fmt::format("arming the notification of stream {} for timeline value {}", stream->id, point.value),
                detail);
        } else {
            stream->armed_value = point.value;
        }
        *fd = stream->fd;
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_add_callback(sidra_stream* stream, sidra_callback fn, void* user) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        if (fn == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`fn` is NULL");
        std::shared_ptr<CallbackThread> callbacks;
        SIDRA_TRY(find_callbacks(call, stream->context, &callbacks));
        CallbackThread::Room room;
        const auto held = callbacks->hold();
        Point point;
        SIDRA_TRY(current_point(call, stream, &point));
        callbacks->add(std::move(room), point, fn, user, CallbackThread::Of::kApplication);
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_fault(sidra_stream* stream, sidra_fault_info* info) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check_struct(call, "sidra_fault_info", info));
        fill_struct(info, fault_info(*stream->queue.load(std::memory_order_acquire)));
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_reset(sidra_stream* stream) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        // Host signals ring the doorbells of the context's streams; prevent that while the write index changes.
        std::unique_lock context_lock(stream->context->mutex);
        const std::shared_ptr<CallbackThread> callbacks = stream->context->callbacks;
        Queue& queue = *stream->current_queue;
        if (queue.run_state() == SIDRA_QUEUE_LOST) return lost_status(call, *stream->context);
        std::string detail;
        sidra_ioctl_queue_reset reset{};
        reset.context = stream->context->number;
        reset.queue = queue.number;
        reap(stream);
        std::list<Deferred> dropped;
        {
            const auto held = hold_callbacks(callbacks);
            const std::lock_guard lock(stream->lock);
            const sidra_fault fault = queue.fault_record();
            if (const int error = request(*queue.transport, SIDRA_IOCTL_QUEUE_RESET, &reset, &detail); error != 0)
                return fail_errno(call, error, fmt::format("resetting stream {}", stream->id), detail);
            // The driver stores the restart position of the queue in the state page.
            const uint64_t index = queue.timeline();
            queue.written.store(index, std::memory_order_relaxed);
            queue.published = queue.seen_timeline = index;
            __atomic_store_n(queue.write_word, index, __ATOMIC_RELEASE);
            dropped = drop_work(stream, Epoch::End::kReset, reset.retired, fault);
            queue.begin_epoch(reset.epoch);
            name_epoch(stream->context, reset.epoch, {.stream = stream->id});
        }
        context_lock.unlock();
        if (callbacks) {
            callbacks->wake();
            callbacks->finish(&queue);
        }
        return SIDRA_OK;
    });
}

sidra_status sidra_stream_report(sidra_stream* stream, uint64_t sequence, sidra_operation_report* report) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check_struct(call, "sidra_operation_report", report));
        const std::lock_guard lock(stream->lock);  // no new packet may take the slot meanwhile
        const Queue& queue = *stream->current_queue;
        if (queue.reports == nullptr)
            return fail(SIDRA_ERROR_NOT_FOUND, call,
                        "stream {} keeps no reports; create it with sidra_stream_options.reports", stream->id);
        const uint64_t written = queue.written.load(std::memory_order_relaxed);
        if (sequence >= written)
            return fail(SIDRA_ERROR_NOT_FOUND, call, "stream {} has no operation {}: {} were queued", stream->id,
                        sequence, written);
        if (queue.timeline() <= sequence)
            return fail(SIDRA_ERROR_NOT_READY, call, "operation {} of stream {} is not done", sequence, stream->id);
        const sidra_report& slot = queue.reports[sequence & queue.mask];
        if (written - sequence > queue.capacity || __atomic_load_n(&slot.sequence, __ATOMIC_ACQUIRE) != sequence)
            return fail(SIDRA_ERROR_NOT_FOUND, call,
                        "the report of operation {} of stream {} is gone: only the last {} are kept", sequence,
                        stream->id, queue.capacity);
        sidra_operation_report result{};
        result.device_ps = slot.device_ps;
        result.energy_pj = slot.energy_pj;
        result.cookie = slot.cookie;
        result.opcode = slot.opcode;
        if (slot.opcode == SIDRA_CMD_CALL && slot.cookie == kProgramCookie) {
            result.opcode = SIDRA_CMD_PROGRAM;
            result.cookie = 0;
        }
        fill_struct(report, result);
        return SIDRA_OK;
    });
}

sidra_status sidra_batch_begin(sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "stream", stream));
    const std::lock_guard lock(stream->lock);
    if (stream->recording) return not_recordable(__func__, stream);
    if (stream->batch)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "stream {} has an open batch; batches do not nest",
                    stream->id);
    stream->batch = true;
    return SIDRA_OK;
}

sidra_status sidra_batch_end(sidra_stream* stream) {
    SIDRA_TRY(check(__func__, "stream", stream));
    const std::lock_guard lock(stream->lock);
    if (!stream->batch)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__,
                    "stream {} has no open batch; sidra_batch_begin() opens one", stream->id);
    flush(stream);
    stream->batch = false;
    return SIDRA_OK;
}
