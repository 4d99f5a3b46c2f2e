// SPDX-License-Identifier: MIT
// Selects what a thread runs: an admin command, the management core, or a queue.
#include <algorithm>
#include <new>

#include "chip.h"
#include "float_environment.h"
#include "slice.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kOverrunMax = 8;  // maximum charge of a turn, as a multiple of its estimate

}  // namespace

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
    const uint64_t begin = shared ? clock_.now_ns() : 0;
    if (scheduler_.stale(pick.context, pick.queue, pick.epoch)) {
        // The queue was reset after the doorbell.
    } else if (stops_.stopped(pick.context, pick.queue)) {
        queue.deferred.store(true);
        if (scheduler_.stale(pick.context, pick.queue, pick.epoch))
            queue.deferred.store(false);  // a reset in between takes precedence
        else if (!stops_.stopped(pick.context, pick.queue) && queue.deferred.exchange(false))
            outcome = Slice::Outcome::kMore;  // resumed in between, before `deferred` was visible
    } else if (loader_.load(queue)) {
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
        const uint64_t took = shared ? (clock_.now_ns() - begin) * engine_->can().threads : 0;
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
    if (again) wakeups_.look_again(queue, epoch);
    if (claim != Queue::kClaimed) wakeups_.look_again(queue, static_cast<uint32_t>(claim >> Queue::kEpochShift));
}

void Chip::landed(Queue& queue) {
    Flight::Work& work = queue.flight.work;
    work.took_ns = busy_.change(work.engine, std::nullopt) - work.since_ns;
    release(queue, queue.epoch, true);
    if (admin_.any()) {
        admin_.poke();
        wakeups_.kick();
    }
    in_flight_.end();
}

bool Chip::can_run() const {
    return registers_.enabled() && !knobs_.stall.load(std::memory_order_relaxed) &&
           !bus_.link_lost.load(std::memory_order_relaxed);
}

bool Chip::may_go_on(const Queue& queue) const {
    return can_run() && !scheduler_.any_ready(queue.context.id, queue.id) && !admin_.any() &&
           !stops_.stopped(queue.context.id, queue.id) && !scheduler_.stale(queue.context.id, queue.id, queue.epoch);
}

bool Chip::run(const Lender& lender) {
    const engine::FloatEnvironment floats;
    if (admin_.step()) return true;  // first, so that an admin command does not wait for a slice
    // A lent thread waits for a queue. On other threads the core comes first; otherwise busy queues would starve it.
    const bool managed = !lender.stop && management_.run(clock_.now_ns());
    if (managed) tell_failure();
    Scheduler::Pick pick;
    const bool ran = can_run() && scheduler_.pick(&pick) && run_queue(pick, lender);
    if (!managed && !ran) return false;
    if (admin_.any()) {
        admin_.poke();
        admin_.step();
    }
    return true;
}

bool Chip::pending() const {
    if (admin_.ready()) return true;
    if (management_.pending() && !stops_.device.load()) return true;
    return can_run() && scheduler_.any_ready();
}

uint64_t Chip::due_ns() const {
    const uint64_t due = management_.due_ns();
    return due == Management::kNever || stops_.device.load() ? Management::kNever : clock_.to_host(due);
}

}  // namespace sidra::chip
