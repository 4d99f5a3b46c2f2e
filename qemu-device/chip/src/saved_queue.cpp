// SPDX-License-Identifier: MIT
#include "saved_queue.h"

#include <algorithm>
#include <iterator>

#include "cell_clock.h"
#include "entries.h"

namespace sidra::chip {
namespace {

bool flag(uint8_t value) { return value <= 1; }

}  // namespace

SavedQueue saved_queue(const Queue& queue, bool analog) {
    SavedQueue saved{};
    saved.context = queue.context.id;
    saved.queue = queue.id;
    saved.loaded = queue.loaded.load();
    saved.recheck = queue.recheck.load();
    saved.deferred = queue.deferred.load();
    saved.epoch = queue.epochs.current();
    saved.timeline = queue.epochs.timeline();
    if (!saved.loaded) return saved;
    saved.faulted = queue.faulted.load();
    saved.under_way = queue.stage != Queue::Stage::kFetch;
    saved.entry = queue.entry;
    saved.index = queue.index;
    saved.progress = queue.progress;
    saved.device_ps = queue.total.device_ps;
    saved.energy_pj = queue.total.energy_pj;
    std::copy(std::begin(queue.engine_ns), std::end(queue.engine_ns), saved.engine_ns);
    if (saved.under_way) saved.cmd = queue.job.cmd;
    if (queue.stage == Queue::Stage::kJob) saved.unit = finished_units(queue.job, queue.next_unit);
    if (queue.stage == Queue::Stage::kInFlight) {  // its units have run, and were not counted yet
        const Flight& flight = queue.flight;
        saved.unit = finished_units(queue.job, flight.end());
        saved.fault_cause = flight.fault().cause;
        saved.fault_address = flight.fault().address;
        saved.progress += flight.units();
        saved.engine_ns[flight.work.engine] += flight.work.took_ns;
    }
    if (queue.stage == Queue::Stage::kLoaded) {
        saved.unit = queue.loaded_unit;
        saved.products = queue.loaded_products;
        saved.spent_ps = queue.loaded_cost.device_ps;
        saved.spent_pj = queue.loaded_cost.energy_pj;
        saved.fault_cause = queue.loaded_fault.cause;
        saved.fault_address = queue.loaded_fault.address;
    }
    if (queue.has_job() && analog) {
        if (const ProductPlan* const plan = product_of(queue.job)) saved.products = plan->products;
        saved.spent_ps = queue.job.spent_ps.load();
        saved.spent_pj = queue.job.spent_pj.load();
    }
    saved.call_active = queue.call.active;
    if (saved.call_active) {
        saved.call_position = queue.call.position;
        saved.call.call = queue.call.cmd;
        saved.call_device_ps = queue.call.cost.device_ps;
        saved.call_energy_pj = queue.call.cost.energy_pj;
    }
    return saved;
}

bool worth_saving(const SavedQueue& saved) { return saved.loaded || saved.recheck || saved.deferred || saved.epoch; }

const char* load_queue(const SavedQueue& q, Objects& objects, Loader& loader) {
    if (q.context >= SIDRA_CONTEXTS_MAX || q.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX || !flag(q.loaded) ||
        !flag(q.recheck) || !flag(q.deferred) || !flag(q.faulted) || !flag(q.under_way) || !flag(q.call_active))
        return "saved state: bad queue";
    Queue& queue = objects.queue(q.context, q.queue);
    if (queue.loaded.load()) return "saved state: a queue comes twice";
    queue.recheck.store(q.recheck);
    queue.deferred.store(q.deferred);
    if (!q.loaded) {
        if (q.epoch) queue.epochs.begin(q.epoch, q.timeline, q.queue);
        return nullptr;
    }
    const sidra_cmd_call& call = q.call.call;
    if (!well_formed(q.entry) || (q.under_way && q.faulted) || q.epoch != q.entry.epoch ||
        q.fault_cause >= SIDRA_FAULT_COUNT || q.fault_cause == SIDRA_FAULT_PRODUCER ||
        (q.fault_cause != SIDRA_FAULT_NONE && !q.under_way) || !CellClock::is_time(q.products.now))
        return "saved state: bad queue entry";
    if (q.call_active && (call.count == 0 || call.count > SIDRA_CMD_CALL_MAX || q.call_position >= call.count ||
                          call.addr % SIDRA_CMD_SIZE ||
                          !Range(Space::kDevice, call.addr, uint64_t{call.count} * SIDRA_CMD_SIZE).valid()))
        return "saved state: bad CALL";
    if (!loader.count_queue()) return "saved state: too many queues";
    queue.rewind(q.entry);
    queue.faulted.store(q.faulted);
    queue.epochs.publish(q.timeline);
    queue.index = q.index;
    queue.progress = q.progress;
    queue.total = {q.device_ps, q.energy_pj};
    std::copy(std::begin(q.engine_ns), std::end(q.engine_ns), queue.engine_ns);
    queue.stage = q.under_way ? Queue::Stage::kLoaded : Queue::Stage::kFetch;
    queue.job.cmd = q.cmd;
    queue.loaded_unit = q.unit;
    queue.loaded_products = q.products;
    queue.loaded_cost = {q.spent_ps, q.spent_pj};
    queue.loaded_fault = {q.fault_cause, q.fault_address};
    if (q.call_active) queue.call = {true, call, q.call_position, {q.call_device_ps, q.call_energy_pj}};
    queue.loaded.store(true);
    return nullptr;
}

}  // namespace sidra::chip
