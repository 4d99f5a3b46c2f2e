// SPDX-License-Identifier: MIT
#include "quiesce.h"

#include <new>

namespace sidra::chip {
namespace {

void drop(Context& context) {
    context.loaded.store(false);
    context.drop_all_weights();
    context.invalidate_translations();
}

}  // namespace

// The queues of one context are adjacent.
template <typename F>
void Quiesce::for_each_in_scope(const AdminCommand& command, F&& visit) {
    if (command.of_device()) return parts_.objects.for_each_queue(visit);
    const size_t first = slot(command.context(), command.of_queue() ? command.queue() : 0);
    const size_t count = command.of_queue() ? 1 : SIDRA_QUEUES_PER_CONTEXT_MAX;
    for (size_t i = first; i < first + count; i++)
        if (Queue* queue = parts_.objects.find(i)) visit(*queue);
}

Context* Quiesce::context_of(const AdminCommand& command) const {
    return command.of_device() ? nullptr : parts_.objects.find_context(command.context());
}

// Stops or resumes the scope of the command; a stopped scope starts no new slice.
void Quiesce::set_stop(const AdminCommand& command, bool stop) {
    Stops& stops = parts_.stops;
    if (command.of_device()) {
        stops.device.store(stop);
    } else if (command.of_queue()) {
        stops.queue[slot(command.context(), command.queue())].store(stop);
    } else {
        const uint8_t bit = command.op() == SIDRA_ADMIN_QUIESCE_WEIGHTS ? Stops::kHeld : Stops::kAsked;
        if (stop) stops.context[command.context()].fetch_or(bit);
        else stops.context[command.context()].fetch_and(static_cast<uint8_t>(~bit));
    }
    if (stop) return;
    for_each_in_scope(command, [this](Queue& queue) {
        if (queue.loaded.load() || queue.deferred.exchange(false))
            parts_.wakeups.make_ready(queue.context.id, queue.id);
    });
}

void Quiesce::begin(const AdminCommand& command) {
    if (command.is_resume()) return;
    if (command.op() != SIDRA_ADMIN_QUIESCE_RANGE) set_stop(command, true);
    else if (Context* context = context_of(command)) context->invalidate_translations();
    for_each_in_scope(command, [](Queue& queue) {
        queue.draining_slice = queue.slices.load();  // first: later claims have seen the stop or the new tag
        queue.draining = queue.claim.load() != 0;
    });
}

void Quiesce::cancel(const AdminCommand& command) {
    if (command.op() != SIDRA_ADMIN_QUIESCE_RANGE) set_stop(command, false);
}

bool Quiesce::drained(const AdminCommand& command) {
    if (command.is_resume()) return true;
    bool drained = true;
    for_each_in_scope(command, [&](Queue& queue) {
        if (queue.draining) queue.draining = queue.slices.load() == queue.draining_slice && queue.claim.load() != 0;
        drained = drained && !queue.draining;
    });
    return drained && (command.op() != SIDRA_ADMIN_QUIESCE_DEVICE || parts_.management.drained());
}

void Quiesce::finish(const AdminCommand& command) {
    Context* const context = context_of(command);
    switch (command.op()) {
        case SIDRA_ADMIN_QUIESCE_RANGE:
            if (context) fault_unmapped_waits(command);
            return;
        case SIDRA_ADMIN_QUIESCE_WEIGHTS:
            if (context) context->drop_weights(static_cast<uint32_t>(command.arg[1]));
            set_stop(command, false);
            return;
        case SIDRA_ADMIN_QUIESCE_QUEUE:
            show_stopped(command);
            return;
        case SIDRA_ADMIN_QUIESCE_CONTEXT:
            show_stopped(command);
            if (context) drop(*context);
            return;
        case SIDRA_ADMIN_QUIESCE_DEVICE:
            show_stopped(command);
            parts_.objects.for_each_context(drop);
            return;
        case SIDRA_ADMIN_RESET_QUEUE:
            end_epoch(command);
            reset(command);
            parts_.stops.queue[slot(command.context(), command.queue())].store(0);
            return;
        case SIDRA_ADMIN_RESET_CONTEXT:
            reset(command);
            if (context) drop(*context);
            for (uint32_t q = 0; q < SIDRA_QUEUES_PER_CONTEXT_MAX; q++)
                parts_.stops.queue[slot(command.context(), q)].store(0);
            parts_.stops.context[command.context()].fetch_and(static_cast<uint8_t>(~Stops::kAsked));
            return;
        default:  // RESUME
            set_stop(command, false);
            return;
    }
}

void Quiesce::show_stopped(const AdminCommand& command) {
    for_each_in_scope(command, [this](Queue& queue) {
        if (queue.loaded.load() && !queue.faulted.load() && !queue.recheck.load())
            parts_.loader.write_run_state(queue, SIDRA_QUEUE_STOPPED);
        queue.recheck.store(true);
    });
}

// Ends the epoch for RESET_QUEUE before its waiters are woken. A queue that was never loaded needs this, too: others
// may wait for its dropped packets.
void Quiesce::end_epoch(const AdminCommand& command) {
    try {
        Queue& queue = parts_.objects.queue(command.context(), command.queue());
        uint32_t epoch = static_cast<uint32_t>(command.arg[2]);
        if (epoch == 0) epoch = queue.epochs.current();
        if (epoch == 0) return;
        auto cause = static_cast<uint16_t>(command.arg[2] >> 32);
        if (cause == SIDRA_FAULT_NONE || cause >= SIDRA_FAULT_COUNT) cause = SIDRA_FAULT_RESET;
        const uint64_t first = epoch == queue.epochs.current() ? queue.epochs.timeline() : 0;
        queue.epochs.end(epoch, {first, command.queue(), epoch, cause});
    } catch (const std::bad_alloc&) {  // treated like an epoch that ended too long ago
    }
}

void Quiesce::reset(const AdminCommand& command) {
    for_each_in_scope(command, [&](Queue& queue) {
        const bool shown = queue.loaded.load() && !queue.recheck.load();
        if (!command.of_queue()) queue.epochs.clear();
        parts_.loader.unload(queue);
        if (shown) parts_.loader.write_run_state(queue, SIDRA_QUEUE_STOPPED);
    });
    // Discard earlier doorbells, including one that a thread has picked but not yet acted on.
    for (uint32_t q = 0; q < SIDRA_QUEUES_PER_CONTEXT_MAX; q++) {
        if (command.of_queue() && q != command.queue()) continue;
        parts_.scheduler.forget(command.context(), q);
        if (Queue* queue = parts_.objects.find(slot(command.context(), q))) queue->deferred.store(false);
    }
}

// A parked queue whose word lies in the range and whose page was unmapped must fault, even if the driver maps another
// page there before the queue checks the word again. The driver maps nothing before the acknowledgement, so the tables
// still show whether the page is gone. (The context entry is read again, because a quiesced context is not cached.)
void Quiesce::fault_unmapped_waits(const AdminCommand& command) {
    const uint64_t va = command.arg[1], size = command.arg[2];
    for_each_in_scope(command, [&](Queue& queue) {
        uint64_t word = queue.word.load();
        if (word - va >= size || (word & Queue::kUnmapped)) return;
        sidra_hw_context entry;
        if (!parts_.loader.read_entry(queue.context, &entry)) return;
        Tlb tlb;
        Range found;
        const AddressSpace space{{Space::kBus, entry.page_table, SIDRA_PAGE_SIZE}, ~uint64_t{0}};
        const Fault fault = Dma(parts_.bus, tlb, space).find_word({Space::kDevice, word, 8}, Access::kRead, &found);
        if (fault.cause != SIDRA_FAULT_TRANSLATION ||
            !queue.word.compare_exchange_strong(word, word | Queue::kUnmapped))
            return;
        parts_.wakeups.wake_parked(queue);
    });
}

bool Quiesce::idle() const {
    bool idle = true;
    parts_.objects.for_each_queue([&](const Queue& queue) { idle = idle && queue.claim.load() == 0; });
    return idle;
}

void Quiesce::forget_all() {
    parts_.objects.for_each_queue([this](Queue& queue) {
        queue.epochs.clear();
        parts_.loader.unload(queue);
    });
    parts_.objects.for_each_context(drop);
}

}  // namespace sidra::chip
