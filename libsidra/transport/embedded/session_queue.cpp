// SPDX-License-Identifier: MIT
// Queues of both kinds.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fault_record.h"
#include "session.h"
#include "user_memory.h"

namespace sidra::embedded {
namespace {

constexpr uint32_t kSubmitMax = 4096;  // packets in one SUBMIT

// Vector 0 is not for queues; the others are distributed evenly.
unsigned vector_of(uint32_t slot, uint32_t number) { return 1 + (slot * 7 + number) % (SIDRA_MSIX_VECTORS - 1); }

}  // namespace

int Session::bind_ring(Context& context, Queue& queue, Detail& detail) {
    if (queue.kind == SIDRA_QUEUE_KERNEL) return 0;  // the chip accesses it by bus address
    // The chip only reads packets and write index, and packets must not be able to write them by device address.
    const RingLayout& layout = queue.layout;
    const Driver::Segment segments[] = {{layout.report, SIDRA_PTE_READ},
                                        {layout.size - layout.report, SIDRA_PTE_READ | SIDRA_PTE_WRITE}};
    queue.ring_va = driver_->bind(*context.vm, queue.ring->bus(), {segments, layout.has_reports() ? 2u : 1u});
    if (queue.ring_va != 0) return 0;
    return fail(detail, -ENOSPC, "the address space of context {} has no room for a ring of {} bytes", context.handle,
                layout.size);
}

int Session::queue_create(sidra_ioctl_queue_create& a, Detail& detail) {
    a.queue = 0;
    a.ring_offset = a.ring_size = a.report_offset = a.state_offset = 0;
    if (int error = check_flags(a.flags, SIDRA_QUEUE_REPORTS, "flags", detail)) return error;
    if (a.kind > SIDRA_QUEUE_KERNEL)
        return fail(detail, -EINVAL, "kind {} is neither a user (0) nor a kernel queue (1)", a.kind);
    if (a.ring_log2 < SIDRA_QUEUE_LOG2_MIN || a.ring_log2 > SIDRA_QUEUE_LOG2_MAX)
        return fail(detail, -EINVAL, "ring_log2 {} is not {}..{}", a.ring_log2, SIDRA_QUEUE_LOG2_MIN,
                    SIDRA_QUEUE_LOG2_MAX);
    // The highest priority needs no privilege: all queues of an embedded chip belong to one process.
    if (a.priority >= SIDRA_PRIORITIES)
        return fail(detail, -EINVAL, "priority {} is not 0..{}", a.priority, SIDRA_PRIORITIES - 1);
    if (a.start > SIDRA_QUEUE_START_MAX)
        return fail(detail, -EINVAL, "start {} is above {}", a.start, SIDRA_QUEUE_START_MAX);
    for (uint64_t field : a.reserved)
        if (int error = check_flags(field, 0, "reserved", detail)) return error;
    const bool reports = a.flags & SIDRA_QUEUE_REPORTS;
    if (reports && a.kind == SIDRA_QUEUE_KERNEL)
        return fail(detail, -EINVAL, "a kernel queue has no reports: its ring memory cannot be mapped");
    Context* context;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    uint32_t number = 0;
    while (context->queues.contains(number)) number++;
    if (number >= driver_->info().queues_per_context)
        return fail(detail, -EMFILE, "context {} has {} queues already; destroy one", a.context, number);
    if (driver_->queue_count() >= driver_->info().queues)
        return fail(detail, -EMFILE, "the chip runs {} queues already; destroy one", driver_->info().queues);
    auto state = driver_->state_pages().take();
    if (!state) return fail(detail, -EMFILE, "all state pages are in use; unmap those of queues that are gone");

    auto queue = std::make_shared<Queue>(context->slot, number, a.kind, a.ring_log2, a.priority, reports,
                                         vector_of(context->slot, number), std::move(state), context->take_epoch());
    queue->state->state()->generation = context->generation;
    queue->state->state()->timeline = a.start;
    queue->store_write_index(a.start);
    context->queues.emplace(number, queue);
    try {
        if (int error = bind_ring(*context, *queue, detail)) {
            drop_queue(*context, *queue);
            return error;
        }
        driver_->host().interrupts().attach(queue->point);
    } catch (...) {
        drop_queue(*context, *queue);
        throw;
    }
    driver_->install_queue(*context, *queue, a.start);

    a.queue = number;
    a.state_offset = MapOffset(MapOffset::kState, a.context, number).raw();
    if (a.kind == SIDRA_QUEUE_USER) {
        a.ring_offset = MapOffset(MapOffset::kRing, a.context, number).raw();
        a.ring_size = queue->layout.size;
        a.report_offset = reports ? queue->layout.report : 0;
    }
    return 0;
}

int Session::queue_destroy(sidra_ioctl_queue& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    Context* context;
    std::shared_ptr<Queue> queue;
    if (int error = find_context(a.context, kRelease, &context, detail)) return error;
    if (int error = find_queue(*context, a.queue, &queue, detail)) return error;
    driver_->remove_queue(*context, *queue);
    remember_fault(*context, *queue);
    drop_queue(*context, *queue);
    return 0;
}

// Queued packets are dropped. The queue continues after them, so that positions stay unique, in a new epoch, so that a
// dropped packet is not taken for a retired one.
int Session::queue_reset(sidra_ioctl_queue_reset& a, Detail& detail) {
    a.epoch = 0;
    a.retired = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    Context* context;
    std::shared_ptr<Queue> queue;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = find_queue(*context, a.queue, &queue, detail)) return error;
    std::lock_guard submit_guard(queue->submit_lock);
    driver_->remove_queue(*context, *queue);
    if (context->lost)
        return fail(detail, -ESTALE, "the chip did not let go of queue {}: context {} was reset and is lost", a.queue,
                    a.context);

    // The chip has forgotten the queue: the driver may write the state page until the chip loads the queue again.
    remember_fault(*context, *queue);
    sidra_queue_state& state = *queue->state->state();
    // Before the epoch: whoever sees that may wait for its points, which will be reached.
    std::atomic_ref<uint32_t>(state.run_state).store(SIDRA_QUEUE_IDLE, std::memory_order_relaxed);
    uint64_t start = queue->load_write_index();
    const uint64_t retired = queue->point.timeline();
    if (queue->kind == SIDRA_QUEUE_USER && start - retired > queue->capacity())
        start = retired;  // not a valid index: nothing was queued
    queue->store_write_index(start);
    const uint32_t epoch = context->take_epoch();
    // Before the state page shows it: a SEM_WAIT for it, in another queue, then waits until the entry is valid.
    name_epoch(context->queue_entry(queue->number), epoch);
    queue->point.begin_epoch(epoch, start);
    driver_->host().interrupts().wake_all(queue->point);
    store_fault(state, {});
    queue->watch.restart();
    std::atomic_ref<uint32_t>(state.parked).store(0, std::memory_order_relaxed);
    driver_->install_queue(*context, *queue, start);
    driver_->host().doorbell(SIDRA_DOORBELL(context->slot, queue->number));  // the chip publishes the new position
    a.epoch = queue->point.epoch();
    a.retired = retired;
    return 0;
}

int Session::queue_query(sidra_ioctl_queue_query& a, Detail& detail) {
    const sidra_ioctl_queue_query asked = a;
    a = {};
    a.context = asked.context;
    a.queue = asked.queue;
    if (int error = check_flags(asked.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(asked.pad, 0, "pad", detail)) return error;
    std::shared_ptr<Queue> queue;
    if (int error = find_queue(a.context, a.queue, kRelease, &queue, detail)) return error;
    sidra_queue_state& state = *queue->state->state();
    a.run_state = queue->point.run_state();
    a.timeline = queue->point.timeline();
    a.epoch = queue->point.epoch();
    a.progress = std::atomic_ref<uint64_t>(state.progress).load(std::memory_order_relaxed);
    a.kind = queue->kind;
    a.ring_log2 = queue->ring_log2;
    a.priority = queue->priority;
    a.queue_flags = queue->layout.has_reports() ? SIDRA_QUEUE_REPORTS : 0;
    a.submitted = queue->load_write_index();
    if (a.run_state == SIDRA_QUEUE_FAULTED || a.run_state == SIDRA_QUEUE_LOST) a.fault = load_fault(state);
    return 0;
}

int Session::submit(sidra_ioctl_submit& a, Detail& detail) {
    a.value = 0;
    a.epoch = 0;
    const int32_t wanted_fence = a.out_fence_fd;
    a.out_fence_fd = -1;
    if (int error = check_flags(a.flags, SIDRA_SUBMIT_OUT_FENCE, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    for (uint64_t field : a.reserved)
        if (int error = check_flags(field, 0, "reserved", detail)) return error;
    if (a.count == 0 || a.count > kSubmitMax)
        return fail(detail, -EINVAL, "count {} is not 1..{}", a.count, kSubmitMax);
    if (a.packet_stride != SIDRA_CMD_SIZE)
        return fail(detail, -EINVAL, "packet_stride {} is not {}", a.packet_stride, SIDRA_CMD_SIZE);
    if (wanted_fence != -1) return fail(detail, -EINVAL, "out_fence_fd {} must be -1 on entry", wanted_fence);
    if (a.in_count != 0 || a.out_count != 0)
        return fail(detail, -EOPNOTSUPP,
                    "an embedded chip has no syncobjs ({} in, {} out); wait for the timeline instead", a.in_count,
                    a.out_count);
    if (a.in_fence_fd != -1 || (a.flags & SIDRA_SUBMIT_OUT_FENCE))
        return fail(detail, -EOPNOTSUPP, "an embedded chip has no sync_files; wait for the timeline instead");
    if (a.in_points != 0 || a.out_points != 0)
        return fail(detail, -EINVAL, "in_points or out_points is given with a count of 0");
    if (a.point_stride != 0)
        if (int error = check_stride(a.point_stride, sizeof(sidra_syncobj_point), "point_stride", detail)) return error;

    Context* context;
    std::shared_ptr<Queue> queue;
    uint32_t slot;
    {
        std::lock_guard guard(driver_->lock());
        if (int error = find_context(a.context, kNormal, &context, detail)) return error;
        if (int error = find_queue(*context, a.queue, &queue, detail)) return error;
        slot = context->slot;
    }
    if (queue->kind != SIDRA_QUEUE_KERNEL)
        return fail(detail, -EINVAL,
                    "queue {} of context {} is a user queue: write packets to its ring and ring its doorbell", a.queue,
                    a.context);
    std::vector<sidra_cmd> packets(a.count);
    if (!copy_from_user(packets.data(), a.packets, packets.size() * sizeof packets[0]))
        return fail(detail, -EFAULT, "{} packets at {:#x} are not readable", a.count, a.packets);
    for (uint32_t i = 0; i < a.count; i++)
        if (packets[i].hdr.opcode == SIDRA_CMD_SEM_WAIT || packets[i].hdr.opcode == SIDRA_CMD_SEM_SIGNAL)
            return fail(detail, -EINVAL, "packet {} has opcode {}: semaphores are for user queues only", i,
                        packets[i].hdr.opcode);

    std::lock_guard submit_guard(queue->submit_lock);
    if (queue->destroyed.load(std::memory_order_acquire))
        return fail(detail, -ENOENT, "queue {} of context {} was destroyed", a.queue, a.context);
    if (queue->point.stopped())
        return fail(detail, -EIO, "queue {} of context {} has stopped; query its fault, then reset it", a.queue,
                    a.context);
    const uint64_t capacity = queue->capacity();
    if (a.count > capacity)
        return fail(detail, -EINVAL, "{} packets do not fit into a ring of {}; submit fewer at a time", a.count,
                    capacity);
    const uint64_t begin = queue->load_write_index();
    // The timeline comes from the chip; an invalid one leaves no room.
    const uint64_t in_ring = std::min(begin - queue->point.timeline(), capacity);
    if (a.count > capacity - in_ring)
        return fail(detail, -EBUSY, "{} of {} places in the ring of queue {} are taken; wait for its timeline", in_ring,
                    capacity, a.queue);
    auto* ring = reinterpret_cast<sidra_cmd*>(queue->ring->data());
    for (uint64_t i = 0; i < a.count; i++)
        std::memcpy(&ring[(begin + i) & (capacity - 1)], &packets[i], sizeof packets[i]);
    queue->store_write_index(begin + a.count);
    driver_->host().doorbell(SIDRA_DOORBELL(slot, queue->number));
    a.value = begin + a.count;
    a.epoch = queue->point.epoch();  // no reset can come in between, because it takes the same lock
    return 0;
}

}  // namespace sidra::embedded
