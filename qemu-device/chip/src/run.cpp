// SPDX-License-Identifier: MIT
// Selects the queue that a thread runs; loads contexts and queues.
#include <algorithm>
#include <new>

#include "chip.h"
#include "slice.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kOverrunMax = 8;  // maximum charge of a turn, as a multiple of its estimate

}  // namespace

void Chip::make_ready(uint32_t context, uint32_t queue) {
    if (scheduler_.mark_ready(context, queue)) host_.kick(host_.self);
}

void Chip::look_again(const Queue& queue, uint32_t epoch) {
    if (scheduler_.mark_ready_again(queue.context.id, queue.id, epoch)) host_.kick(host_.self);
}

void Chip::wake_parked(const Address& key) {
    parked_.wake(key, [this](const Queue& queue, uint32_t epoch) { look_again(queue, epoch); });
}

// Raises the vector of a queue that has reached its armed value. Called after storing the timeline and after writing
// ARM. All these operations are sequentially consistent, so at least one of the two calls sees the other's store.
void Chip::check_arm(Queue& queue) {
    std::atomic<uint64_t>& arm = arm_[slot(queue.context.id, queue.id)];
    uint64_t value = arm.load();
    if (value == 0 || queue.epochs.timeline() < value) return;
    if (arm.compare_exchange_strong(value, 0)) interrupts_.raise(queue.vector.load(std::memory_order_relaxed));
}

// The caller has claimed a queue of the context, so the context cannot be invalidated concurrently.
bool Chip::load_context(Context& context) {
    if (context.loaded.load(std::memory_order_acquire)) return true;
    const uint64_t table = context_table_.load();
    sidra_hw_context entry;
    if (table == 0 || !bus_.read_entry(table_at<sidra_hw_context>(table, SIDRA_CONTEXTS_MAX), context.id, &entry))
        return false;
    if (!well_formed(entry)) return false;
    std::lock_guard guard(context.load_lock);
    if (context.loaded.load(std::memory_order_relaxed)) return true;
    context.entry = entry;
    context.loaded.store(true, std::memory_order_release);
    return true;
}

bool Chip::read_queue_entry(const Context& context, uint32_t id, sidra_hw_queue* entry) {
    const uint32_t count = context.entry.queue_count;
    if (id >= count) return false;
    if (!bus_.read_entry(table_at<sidra_hw_queue>(context.entry.queue_table, count), id, entry)) return false;
    return well_formed(*entry);
}

// Loads the current table entry; without a valid entry returns false and unloads the queue.
bool Chip::load_queue(Queue& queue) {
    const bool recheck = queue.recheck.load(std::memory_order_relaxed);
    const bool loaded = queue.loaded.load(std::memory_order_relaxed);
    if (loaded && !recheck && queue.context.loaded.load(std::memory_order_acquire)) return true;
    queue.recheck.store(false, std::memory_order_relaxed);  // it is set again only while no thread runs the queue
    sidra_hw_queue entry;
    if (!load_context(queue.context) || !read_queue_entry(queue.context, queue.id, &entry)) {
        if (loaded) forget(queue);
        return false;
    }
    const bool same = loaded && entry.generation == queue.entry.generation && entry.epoch == queue.entry.epoch &&
                      entry.ring == queue.entry.ring && entry.ring_log2 == queue.entry.ring_log2 &&
                      entry.state == queue.entry.state;
    if (same) {
        queue.entry = entry;
        queue.vector.store(entry.vector, std::memory_order_relaxed);
    } else {
        if (loaded) forget(queue);
        if (loaded_queues_.fetch_add(1) >= SIDRA_QUEUES_MAX) {
            loaded_queues_.fetch_sub(1);
            return false;
        }
        queue.rewind(entry);
        if (parked_.any()) wake_parked(timeline_key(queue.context.id, queue.id));  // wakes waiters for the new epoch
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
    queue.loaded.store(true, std::memory_order_release);
    return true;
}

bool Chip::write_run_state(const Queue& queue, uint32_t run_state) {
    // Not called during a slice, so `parked` does not change.
    if (knobs_.lies(SIDRA_LIE_RUN_STATE)) run_state = 77;
    const uint32_t words[4] = {run_state, queue.entry.generation, queue.parked, queue.entry.epoch};
    static_assert(offsetof(sidra_queue_state, generation) == offsetof(sidra_queue_state, run_state) + 4);
    static_assert(offsetof(sidra_queue_state, parked) == offsetof(sidra_queue_state, run_state) + 8);
    static_assert(offsetof(sidra_queue_state, epoch) == offsetof(sidra_queue_state, run_state) + 12);
    return bus_.write_words(memory_of(queue.entry).state.part(offsetof(sidra_queue_state, run_state), sizeof words),
                            words);
}

bool Chip::run_queue(const Scheduler::Pick& pick, const Lender& lender) {
    Queue* found;
    try {
        found = &objects_.queue(pick.context, pick.queue);
    } catch (const std::bad_alloc&) {
        scheduler_.mark_ready_again(pick.context, pick.queue, pick.epoch);  // retry later
        return false;
    }
    Queue& queue = *found;
    for (uint64_t claim = 0; !queue.claim.compare_exchange_strong(claim, Queue::kClaimed);) {
        // Another thread runs the queue and must check it again when it is done. (If that thread has just finished, try
        // again.) A stale doorbell must not replace a newer one: then the exchange fails, and the loop checks for
        // staleness again.
        if (scheduler_.stale(pick.context, pick.queue, pick.epoch)) return true;
        const uint64_t again = Queue::kAgain | uint64_t{pick.epoch} << Queue::kEpochShift;
        if (claim == 0 || !queue.claim.compare_exchange_strong(claim, again)) {
            claim = 0;
            continue;
        }
        return true;
    }
    Slice::Outcome outcome = Slice::Outcome::kIdle;
    uint64_t work = 0;
    const bool shared = scheduler_.any_ready(pick.context, pick.queue);
    const uint64_t begin = shared ? clock_ns() : 0;
    if (scheduler_.stale(pick.context, pick.queue, pick.epoch)) {
        // The queue was reset after the doorbell.
    } else if (stops_.stopped(pick.context, pick.queue)) {
        queue.deferred.store(true);
        if (scheduler_.stale(pick.context, pick.queue, pick.epoch))
            queue.deferred.store(false);  // a reset in between takes precedence
        else if (!stops_.stopped(pick.context, pick.queue) && queue.deferred.exchange(false))
            outcome = Slice::Outcome::kMore;  // resumed in between, before `deferred` was visible
    } else if (load_queue(queue)) {
        queue.epoch = pick.epoch;
        Slice slice(*this, queue, lender);
        outcome = slice.run();
        work = slice.turn_work();
    }
    const bool flies = outcome == Slice::Outcome::kInFlight;
    if (!flies) release(queue, pick.epoch, outcome == Slice::Outcome::kMore);
    if (scheduler_.any_ready(pick.context, pick.queue)) {  // otherwise no queue shares the chip
        // Work that takes longer than its estimate (uncached memory, IOMMU misses) is charged to its queue, for all
        // threads. The charge is limited, because the host may have preempted this thread.
        const uint64_t took = shared ? (clock_ns() - begin) * engine_->can().threads : 0;
        scheduler_.charge(pick, std::clamp(took, work, kOverrunMax * work));
    }
    if (flies) {
        in_flight_.begin();
        if (queue.flight.leave()) landed(queue);
    }
    return true;
}

// Ends the claim. `again`: the queue has more to do. Another thread may claim it before this returns.
void Chip::release(Queue& queue, uint32_t epoch, bool again) {
    queue.slices.store(queue.slices.load(std::memory_order_relaxed) + 1,
                       std::memory_order_release);  // before the claim
    const uint64_t claim = queue.claim.exchange(0);
    if (again) look_again(queue, epoch);
    if (claim != Queue::kClaimed) look_again(queue, static_cast<uint32_t>(claim >> Queue::kEpochShift));
}

void Chip::landed(Queue& queue) {
    Flight::Work& work = queue.flight.work;
    work.took_ns = busy_.change(work.engine, std::nullopt) - work.since_ns;
    release(queue, queue.epoch, true);
    if (admin_.pending.load() || admin_.reset.load()) {
        admin_poke();
        host_.kick(host_.self);
    }
    in_flight_.end();
}

bool Chip::can_run() const {
    return enabled_.load(std::memory_order_relaxed) && !knobs_.stall.load(std::memory_order_relaxed) &&
           !bus_.link_lost.load(std::memory_order_relaxed);
}

bool Chip::may_go_on(const Queue& queue) const {
    return can_run() && !scheduler_.any_ready(queue.context.id, queue.id) && !admin_.pending.load() &&
           !admin_.reset.load() && !stops_.stopped(queue.context.id, queue.id) &&
           !scheduler_.stale(queue.context.id, queue.id, queue.epoch);
}

bool Chip::run(const Lender& lender) {
    if (admin_step()) return true;  // first, so that an admin command does not wait for a slice
    // A lent thread waits for a queue. On other threads the core comes first; otherwise busy queues would starve it.
    const bool managed = !lender.stop && management_.run(clock_ns());
    if (managed) tell_failure();
    Scheduler::Pick pick;
    const bool ran = can_run() && scheduler_.pick(&pick) && run_queue(pick, lender);
    if (!managed && !ran) return false;
    if (admin_.pending.load() || admin_.reset.load()) {
        admin_poke();
        admin_step();
    }
    return true;
}

bool Chip::pending() const {
    if ((admin_.pending.load() || admin_.reset.load()) && !admin_.blocked.load()) return true;
    if (management_.pending() && !stops_.device.load()) return true;
    return can_run() && scheduler_.any_ready();
}

uint64_t Chip::due_ns() const {
    const uint64_t due = management_.due_ns();
    return due == Management::kNever || stops_.device.load() ? Management::kNever
                                                             : due + powered_on_ns_.load(std::memory_order_relaxed);
}

}  // namespace sidra::chip
