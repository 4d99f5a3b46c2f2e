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

bool well_formed(const sidra_hw_context& entry) {
    return entry.flags == SIDRA_HW_CONTEXT_VALID && entry.page_table != 0 && entry.page_table % SIDRA_PAGE_SIZE == 0 &&
           entry.weights_count <= SIDRA_WEIGHTS_MAX && entry.queue_count <= SIDRA_QUEUES_PER_CONTEXT_MAX &&
           !entry.reserved[0] && !entry.reserved[1] && !entry.reserved[2] &&
           Range(Space::kBus, entry.page_table, SIDRA_PAGE_SIZE).valid() &&
           table_at<sidra_hw_weights>(entry.weights_table, entry.weights_count).valid() &&
           table_at<sidra_hw_queue>(entry.queue_table, entry.queue_count).valid();
}

QueueMemory memory_of(const sidra_hw_queue& entry) {
    const Space space = entry.flags & SIDRA_HW_QUEUE_KERNEL ? Space::kBus : Space::kDevice;
    const uint64_t slots = uint64_t{1} << std::min<uint32_t>(entry.ring_log2, SIDRA_HW_QUEUE_LOG2_MAX);
    return {{space, entry.ring, slots * SIDRA_CMD_SIZE},
            {space, entry.write_index, sizeof(uint64_t)},
            {Space::kBus, entry.state, sizeof(sidra_queue_state)},
            {space, entry.report, entry.report ? slots * sizeof(sidra_report) : 0}};
}

bool well_formed(const sidra_hw_queue& entry) {
    constexpr uint32_t kFlags = SIDRA_HW_QUEUE_VALID | SIDRA_HW_QUEUE_KERNEL;
    const QueueMemory memory = memory_of(entry);
    return (entry.flags & SIDRA_HW_QUEUE_VALID) && !(entry.flags & ~kFlags) && entry.ring % SIDRA_PAGE_SIZE == 0 &&
           entry.write_index % 8 == 0 && entry.state != 0 && entry.state % SIDRA_PAGE_SIZE == 0 &&
           entry.report % 32 == 0 && entry.ring_log2 >= SIDRA_HW_QUEUE_LOG2_MIN &&
           entry.ring_log2 <= SIDRA_HW_QUEUE_LOG2_MAX && entry.priority < SIDRA_PRIORITIES && entry.vector >= 1 &&
           entry.vector < SIDRA_MSIX_VECTORS && entry.epoch != 0 && !entry.reserved && memory.ring.valid() &&
           memory.write_index.valid() && memory.state.valid() && memory.reports.valid();
}

bool Chip::stopped(uint32_t context, uint32_t queue) const {
    return stop_device_.load() || stop_context_[context].load() != 0 || stop_[slot(context, queue)].load() != 0;
}

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
    if (arm.compare_exchange_strong(value, 0)) raise(queue.vector.load(std::memory_order_relaxed));
}

bool Chip::corrupt_this_fetch() {
    uint64_t left = corrupt_fetch_.load(std::memory_order_relaxed);
    while (left != 0)
        if (corrupt_fetch_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return left == 1;
    return false;
}

Queue& Chip::queue_object(uint32_t context, uint32_t queue) {
    std::atomic<Queue*>& found = queues_[slot(context, queue)];
    if (Queue* known = found.load(std::memory_order_acquire)) return *known;
    std::lock_guard guard(objects_lock_);
    if (Queue* known = found.load(std::memory_order_acquire)) return *known;
    Context* owner = contexts_[context].load(std::memory_order_acquire);
    if (!owner) {
        owner = owned_contexts_.emplace_back(std::make_unique<Context>(context)).get();
        contexts_[context].store(owner, std::memory_order_release);
    }
    Queue* fresh = owned_queues_.emplace_back(std::make_unique<Queue>(*owner, queue)).get();
    found.store(fresh, std::memory_order_release);
    return *fresh;
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
    if (lies(SIDRA_LIE_RUN_STATE)) run_state = 77;
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
        found = &queue_object(pick.context, pick.queue);
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
    } else if (stopped(pick.context, pick.queue)) {
        queue.deferred.store(true);
        if (scheduler_.stale(pick.context, pick.queue, pick.epoch))
            queue.deferred.store(false);  // a reset in between takes precedence
        else if (!stopped(pick.context, pick.queue) && queue.deferred.exchange(false))
            outcome = Slice::Outcome::kMore;  // resumed in between, before `deferred` was visible
    } else if (load_queue(queue)) {
        queue.epoch = pick.epoch;
        Slice slice(*this, queue, lender);
        outcome = slice.run();
        work = slice.turn_work();
    }
    queue.slices.store(queue.slices.load(std::memory_order_relaxed) + 1,
                       std::memory_order_release);  // before the claim
    const uint64_t claim = queue.claim.exchange(0);
    if (outcome == Slice::Outcome::kMore) look_again(queue, pick.epoch);
    if (claim != Queue::kClaimed) look_again(queue, static_cast<uint32_t>(claim >> Queue::kEpochShift));
    if (scheduler_.any_ready(pick.context, pick.queue)) {  // otherwise no queue shares the chip
        // Work that takes longer than its estimate (uncached memory, IOMMU misses) is charged to its queue, for all
        // threads. The charge is limited, because the host may have preempted this thread.
        const uint64_t took = shared ? (clock_ns() - begin) * pool_.threads() : 0;
        scheduler_.charge(pick, std::clamp(took, work, kOverrunMax * work));
    }
    return true;
}

bool Chip::can_run() const {
    return enabled_.load(std::memory_order_relaxed) && !stall_.load(std::memory_order_relaxed) &&
           !bus_.link_lost.load(std::memory_order_relaxed);
}

bool Chip::may_go_on(const Queue& queue) const {
    return can_run() && !scheduler_.any_ready(queue.context.id, queue.id) && !admin_.pending.load() &&
           !admin_.reset.load() && !stopped(queue.context.id, queue.id) &&
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
    if (management_.pending() && !stop_device_.load()) return true;
    return can_run() && scheduler_.any_ready();
}

uint64_t Chip::due_ns() const {
    const uint64_t due = management_.due_ns();
    return due == Management::kNever || stop_device_.load() ? Management::kNever
                                                            : due + powered_on_ns_.load(std::memory_order_relaxed);
}

}  // namespace sidra::chip
