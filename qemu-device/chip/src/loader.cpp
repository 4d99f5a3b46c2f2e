// SPDX-License-Identifier: MIT
#include "loader.h"

#include <cstddef>

#include "entries.h"

namespace sidra::chip {

bool Loader::count_queue() {
    if (loaded_queues_.fetch_add(1) < SIDRA_QUEUES_MAX) return true;
    loaded_queues_.fetch_sub(1);
    return false;
}

bool Loader::read_entry(const Context& context, sidra_hw_context* entry) {
    const uint64_t table = context_table_.load();
    return table != 0 && bus_.read_entry(table_at<sidra_hw_context>(table, SIDRA_CONTEXTS_MAX), context.id, entry) &&
           well_formed(*entry);
}

bool Loader::read_entry(const Context& context, uint32_t id, sidra_hw_queue* entry) {
    const uint32_t count = context.entry.queue_count;
    return id < count && bus_.read_entry(table_at<sidra_hw_queue>(context.entry.queue_table, count), id, entry) &&
           well_formed(*entry);
}

// The caller has claimed a queue of the context, so the context cannot be invalidated concurrently.
bool Loader::load_entry(Context& context) {
    if (context.loaded.load(std::memory_order_acquire)) return true;
    sidra_hw_context entry;
    if (!read_entry(context, &entry)) return false;
    std::lock_guard guard(context.load_lock);
    if (context.loaded.load(std::memory_order_relaxed)) return true;
    context.entry = entry;
    context.loaded.store(true, std::memory_order_release);
    return true;
}

bool Loader::load_entry(Queue& queue) {
    const bool loaded = queue.loaded.load(std::memory_order_relaxed);
    sidra_hw_queue entry;
    if (!load_entry(queue.context) || !read_entry(queue.context, queue.id, &entry)) {
        if (loaded) unload(queue);
        return false;
    }
    const bool same = loaded && entry.generation == queue.entry.generation && entry.epoch == queue.entry.epoch &&
                      entry.ring == queue.entry.ring && entry.ring_log2 == queue.entry.ring_log2 &&
                      entry.state == queue.entry.state;
    if (same) {
        queue.entry = entry;
        queue.vector.store(entry.vector, std::memory_order_relaxed);
    } else {
        if (loaded) unload(queue);
        if (!count_queue()) return false;
        queue.rewind(entry);
        // Wakes waiters for the new epoch.
        if (parked_.any()) wakeups_.wake_parked(timeline_key(queue.context.id, queue.id));
    }
    scheduler_.set_priority(queue.context.id, queue.id, entry.priority);

    sidra_queue_state fresh{};
    fresh.timeline = entry.start_index;
    fresh.epoch = entry.epoch;
    const bool shown = (same || bus_.write_words(memory_of(entry).state, &fresh)) &&
                       write_run_state(queue, queue.faulted.load() ? SIDRA_QUEUE_FAULTED : SIDRA_QUEUE_RUNNING);
    if (!shown) {
        if (!same) loaded_queues_.fetch_sub(1);
        return false;
    }
    queue.recheck.store(false, std::memory_order_relaxed);  // it is set only while no thread runs the queue
    queue.loaded.store(true, std::memory_order_release);
    return true;
}

void Loader::unload(Queue& queue) {
    if (queue.parked) parked_.leave(queue.park_key, &queue);
    queue.parked = false;
    queue.word.store(Queue::kNoWord);
    queue.stage = Queue::Stage::kFetch;
    queue.job.own_weights.reset();
    if (queue.job.readouts.held()) {
        queue.job.readouts = {};
        wakeups_.wake_parked(kReadoutsKey);
    }
    queue.call = {};
    queue.recheck.store(false);
    queue.faulted.store(false);
    arms_.set(slot(queue.context.id, queue.id), 0);
    if (queue.loaded.exchange(false)) loaded_queues_.fetch_sub(1);
    wakeups_.wake_parked(timeline_key(queue.context.id, queue.id));
}

bool Loader::write_run_state(const Queue& queue, uint32_t run_state) {
    // Not called during a slice, so `parked` does not change.
    if (knobs_.lies(SIDRA_LIE_RUN_STATE)) run_state = 77;
    const uint32_t words[4] = {run_state, queue.entry.generation, queue.parked, queue.entry.epoch};
    static_assert(offsetof(sidra_queue_state, generation) == offsetof(sidra_queue_state, run_state) + 4);
    static_assert(offsetof(sidra_queue_state, parked) == offsetof(sidra_queue_state, run_state) + 8);
    static_assert(offsetof(sidra_queue_state, epoch) == offsetof(sidra_queue_state, run_state) + 12);
    return bus_.write_words(memory_of(queue.entry).state.part(offsetof(sidra_queue_state, run_state), sizeof words),
                            words);
}

}  // namespace sidra::chip
