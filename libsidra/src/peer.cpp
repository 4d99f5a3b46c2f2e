// SPDX-License-Identifier: MIT
// Copies between contexts, which may be of different chips. No chip sees the memory of another context, so a thread of
// the library copies: when the source's stream has come to the copy, and then the destination's. Until then gates hold
// both streams.
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "buffer.h"
#include "callback.h"
#include "copy.h"
#include "fault.h"
#include "gate.h"
#include "pool.h"
#include "stream.h"
#include "submit.h"
#include "wait.h"

namespace sidra {
namespace {

// One end of a copy.
struct End {
    sidra_context* context = nullptr;
    std::shared_ptr<CallbackThread> callbacks;
    CallbackThread::Room room;  // for what happens when its stream waits at the gate
    std::shared_ptr<Gates> gates;
    Point before;  // of its gate
    std::shared_ptr<MemoryLife> life;
    std::byte* host = nullptr;
};

struct PeerCopy {
    End source, target;
    size_t size = 0;
    bool cancelled = false;            // the target has no gate for it
    std::optional<EpochRoot> failure;  // why the source never came to the copy
};

std::shared_ptr<MemoryLife> life_of(const sidra_buffer& buffer) {
    return (buffer.block != nullptr ? *buffer.block->chunk->memory : *buffer.memory).life();
}

// Where the failure of a point began that will never be reached.
EpochRoot root_of(const Point& point) {
    const bool dropped = point.epoch->ended();
    const sidra_fault fault = dropped ? point.epoch->fault() : fault_of(*point.queue);
    EpochRoot root = fault_root(*point.queue, fault);
    if (fault.cause == SIDRA_FAULT_NONE)
        root = {point.queue->stream_id, false, dropped ? point.epoch->retired() : point.queue->timeline(),
                SIDRA_FAULT_RESET};
    root.foreign = true;
    return root;
}

// Calls `ready` on the thread of this end's callbacks when its stream waits at the gate, or will never come there.
void await(End* end, sidra_callback ready, PeerCopy* copy) {
    const std::shared_ptr<CallbackThread> callbacks = end->callbacks;  // the copy may be over when this returns
    const auto held = callbacks->hold();
    callbacks->add(std::move(end->room), end->before, ready, copy);
}

// The copy is over. The contexts may end now.
void finish(PeerCopy* copy) {
    sidra_context *source = copy->source.context, *target = copy->target.context;
    delete copy;  // with its references to queues
    source->peer_copies.fetch_sub(1, std::memory_order_release);
    target->peer_copies.fetch_sub(1, std::memory_order_release);
}

// Copies, unless the memory of one end is gone. It stays until this is over.
bool copy_bytes(const PeerCopy& copy) {
    MemoryLife *first = copy.source.life.get(), *second = copy.target.life.get();
    if (std::less<>()(second, first)) std::swap(first, second);  // one order for all
    const std::shared_lock lock(first->mutex), other_lock(second->mutex);
    if (first->gone || second->gone) return false;
    std::memmove(copy.target.host, copy.source.host, copy.size);  // both may have registered the same memory
    return true;
}

// On the thread of the target: its stream waits at the gate, or will never come there.
void target_ready(sidra_status status, void* user) {
    auto* copy = static_cast<PeerCopy*>(user);
    if (status == SIDRA_OK && !copy->failure && !copy_bytes(*copy))
        copy->failure = {copy->source.before.queue->stream_id, true, copy->source.before.value,
                         SIDRA_FAULT_TRANSLATION};
    if (status == SIDRA_OK && copy->failure) copy->target.gates->fail(*copy->failure);
    else copy->target.gates->open();
    copy->source.gates->open();  // nobody reads the source any more, whatever became of the target
    finish(copy);
}

// On the thread of the source: its stream waits at the gate, or will never come there.
void source_ready(sidra_status status, void* user) {
    auto* copy = static_cast<PeerCopy*>(user);
    if (copy->cancelled) {
        copy->source.gates->open();
        finish(copy);
        return;
    }
    if (status != SIDRA_OK) copy->failure = root_of(copy->source.before);
    await(&copy->target, target_ready, copy);
}

sidra_status make_end(const char* call, sidra_stream* stream, const sidra_ref& ref, End* end) {
    end->context = stream->context;
    end->life = life_of(buffer_of(ref));
    end->host = buffer_of(ref).host + ref.offset;
    return find_callbacks(call, stream->context, &end->callbacks);
}

sidra_status close_gate(const char* call, sidra_stream* stream, End* end) {
    const std::lock_guard lock(stream->gates_mutex);
    SIDRA_TRY(Gates::of(call, stream, &end->gates));
    return end->gates->close(call, stream, &end->before);
}

sidra_status copy_between(const char* call, sidra_stream* target, const sidra_ref& dst, sidra_stream* source,
                          const sidra_ref& src, size_t size) {
    auto copy = std::make_unique<PeerCopy>();
    copy->size = size;
    SIDRA_TRY(make_end(call, source, src, &copy->source));
    SIDRA_TRY(make_end(call, target, dst, &copy->target));
    SIDRA_TRY(close_gate(call, source, &copy->source));
    // From here on the source waits, so nothing may leave this function before somebody opens its gate.
    const sidra_status status = guarded(call, [&] { return close_gate(call, target, &copy->target); });
    copy->cancelled = status != SIDRA_OK;
    for (const End* end : {&copy->source, &copy->target})
        end->context->peer_copies.fetch_add(1, std::memory_order_relaxed);
    PeerCopy* const raw = copy.release();  // the callbacks delete it
    await(&raw->source, source_ready, raw);
    return status;
}

// Copies that the chip can do itself: each stream waits for the other one.
sidra_status copy_within(const char* call, sidra_stream* target, const sidra_ref& dst, sidra_stream* source,
                         const sidra_ref& src, size_t size) {
    Point point;
    if (source != target) {
        SIDRA_TRY(current_point(call, source, &point));
        SIDRA_TRY(wait_point(call, target, point));
    }
    SIDRA_TRY(copy_rows(call, target, dst, size, src, size, size, 1));
    if (source == target) return SIDRA_OK;
    SIDRA_TRY(current_point(call, target, &point));
    return wait_point(call, source, point);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_copy_peer_async(sidra_stream* dst_stream, sidra_ref dst, sidra_stream* src_stream, sidra_ref src,
                                   size_t size) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "dst_stream", dst_stream));
        SIDRA_TRY(check(call, "src_stream", src_stream));
        if (size == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`size` is 0; a copy moves at least one byte");
        uint64_t address = 0;
        SIDRA_TRY(resolve(call, "dst", dst_stream->context, dst, size, 1, Access::kWrite, &address));
        SIDRA_TRY(resolve(call, "src", src_stream->context, src, size, 1, Access::kRead, &address));
        for (sidra_stream* stream : {dst_stream, src_stream}) {
            const std::lock_guard lock(stream->lock);
            if (stream->recording) return not_recordable(call, stream);
        }
        if (dst_stream->context == src_stream->context)
            return copy_within(call, dst_stream, dst, src_stream, src, size);
        return copy_between(call, dst_stream, dst, src_stream, src, size);
    });
}
