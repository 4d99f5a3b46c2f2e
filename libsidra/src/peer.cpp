// SPDX-License-Identifier: MIT
// Copies between contexts, which may be of different chips. No chip sees the memory of another context, so a thread of
// the library copies: when the source's stream has come to the copy, and then the destination's. Until then gates hold
// both streams.
#include "peer.h"

#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

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

using Copies = std::list<std::shared_ptr<PeerCopy>>;

// One end of a copy.
struct End {
    sidra_context* context = nullptr;  // null: the copy has let go of it; then only the memory below is valid
    Copies::iterator at;               // in the context's list
    std::shared_ptr<CallbackThread> callbacks;
    CallbackThread::Room room;  // for what happens when its stream waits at the gate
    std::shared_ptr<Gates> gates;
    Point before;  // of its gate
    std::shared_ptr<MemoryLife> life;
    std::byte* host = nullptr;
};

}  // namespace

// The lists of both contexts own it.
struct PeerCopy : std::enable_shared_from_this<PeerCopy> {
    std::mutex mutex;  // protects all below, except while the copy is made; outermost lock
    End source, target;
    size_t size = 0;
    bool source_came = false;          // its stream waits at the gate, or will never come there
    EpochRoot source_gone;             // the failure if its memory is gone
    std::optional<EpochRoot> failure;  // why the target fails
};

namespace {

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
    callbacks->add(std::move(end->room), end->before, ready, copy, CallbackThread::Of::kLibrary);
}

void join(End* end, Copies place) {
    const std::lock_guard lock(end->context->peers_mutex);
    end->at = place.begin();
    end->context->peer_copies.splice(end->context->peer_copies.end(), place);
}

// Gives up what belongs to the context, which may end now. The caller holds the copy's mutex, and another reference to
// the copy.
void let_go(End* end) {
    if (end->context == nullptr) return;
    end->gates.reset();
    end->before = {};
    end->callbacks.reset();  // the context has it still
    sidra_context* context = std::exchange(end->context, nullptr);
    const std::lock_guard lock(context->peers_mutex);
    context->peer_copies.erase(end->at);
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
void target_came(sidra_status status, void* user) {
    const std::shared_ptr<PeerCopy> copy = static_cast<PeerCopy*>(user)->shared_from_this();
    const std::lock_guard lock(copy->mutex);
    if (status == SIDRA_OK && !copy->failure && !copy_bytes(*copy)) copy->failure = copy->source_gone;
    if (status == SIDRA_OK && copy->failure) copy->target.gates->fail(*copy->failure);
    else copy->target.gates->open();
    // Nobody reads the source any more, whatever became of the target.
    if (copy->source.context != nullptr) copy->source.gates->open();
    let_go(&copy->source);
    let_go(&copy->target);
}

// On the thread of the source: its stream waits at the gate, or will never come there.
void source_came(sidra_status status, void* user) {
    const std::shared_ptr<PeerCopy> copy = static_cast<PeerCopy*>(user)->shared_from_this();
    const std::lock_guard lock(copy->mutex);
    copy->source_came = true;
    if (copy->target.context == nullptr) {
        copy->source.gates->open();
        let_go(&copy->source);
        return;
    }
    if (status != SIDRA_OK) copy->failure = root_of(copy->source.before);
    await(&copy->target, target_came, copy.get());
}

sidra_status make_end(const char* call, sidra_stream* stream, const sidra_ref& ref, End* end) {
    end->context = stream->context;
    end->life = life_of(buffer_of(ref));
    end->host = buffer_of(ref).host + ref.offset;
    SIDRA_TRY(find_callbacks(call, stream->context, &end->callbacks));
    return Gates::of(call, stream, &end->gates);
}

sidra_status copy_between(const char* call, sidra_stream* target, const sidra_ref& dst, sidra_stream* source,
                          const sidra_ref& src, size_t size) {
    const auto copy = std::make_shared<PeerCopy>();
    Copies source_place{copy}, target_place{copy};
    copy->size = size;
    SIDRA_TRY(make_end(call, source, src, &copy->source));
    SIDRA_TRY(make_end(call, target, dst, &copy->target));
    // Of both streams together: two copies must come in one order in both rings, or each would wait for the other.
    sidra_stream* streams[] = {source, target};
    SIDRA_TRY(lock_with_room(call, streams));
    copy->source.gates->close(source, &copy->source.before);
    copy->target.gates->close(target, &copy->target.before);
    for (sidra_stream* stream : streams) stream->lock.unlock();
    // From here on both wait, so nothing may leave this function before somebody opens their gates.
    const Point& before = copy->source.before;
    copy->source_gone = {before.queue->stream_id, true, before.value, SIDRA_FAULT_TRANSLATION};
    join(&copy->source, std::move(source_place));
    join(&copy->target, std::move(target_place));
    await(&copy->source, source_came, copy.get());
    return SIDRA_OK;
}

// Visits the copies of a context without memory of its own. Meanwhile others may leave the list, but none comes.
template <typename F>
void for_each_copy(sidra_context* context, F&& visit) {
    std::unique_lock lock(context->peers_mutex);
    Copies& copies = context->peer_copies;
    for (size_t left = copies.size(); left != 0 && !copies.empty(); --left) {
        copies.splice(copies.end(), copies, copies.begin());
        const std::shared_ptr<PeerCopy> copy = copies.back();
        lock.unlock();
        {
            const std::lock_guard copy_lock(copy->mutex);
            visit(copy.get());
        }
        lock.lock();
    }
}

// Copies that the chip can do itself: each stream waits for the other one.
sidra_status copy_within(const char* call, sidra_stream* target, const sidra_ref& dst, sidra_stream* source,
                         const sidra_ref& src, size_t size) {
    sidra_cmd packet;
    SIDRA_TRY(make_copy(call, target->context, dst, size, src, size, size, 1, &packet));
    if (source == target) return submit(call, target, packet, Recordable::kNo);
    Point before, after;
    SIDRA_TRY(current_point(call, source, &before));
    SIDRA_TRY(wait_point(call, target, before));
    // Together: a copy for which the source does not wait must not be queued.
    sidra_stream* streams[] = {source, target};
    SIDRA_TRY(lock_with_room(call, streams));
    store(target, packet, &after);
    flush(target);
    store(source, wait_packet(after));
    for (sidra_stream* stream : streams) stream->lock.unlock();
    return SIDRA_OK;
}

}  // namespace

void drop_peer_copies(sidra_context* context) {
    // As the target of copies whose source has not come yet.
    for_each_copy(context, [&](PeerCopy* copy) {
        if (copy->target.context == context && !copy->source_came) let_go(&copy->target);
    });
    // As the target of the others, and as the source of those that it has not come to: all its streams have ended, so
    // that is known to the thread of its callbacks.
    std::shared_ptr<CallbackThread> callbacks;
    {
        const std::lock_guard lock(context->mutex);
        callbacks = context->callbacks;
    }
    if (callbacks) callbacks->drain();
    // As the source of copies that wait for their target.
    for_each_copy(context, [&](PeerCopy* copy) {
        if (copy->source.context == context) let_go(&copy->source);
    });
}

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
