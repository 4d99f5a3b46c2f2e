// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/mm.h>

#include "sidra_admin.h"
#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_dma.h"
#include "sidra_ioctl.h"
#include "sidra_map.h"
#include "sidra_mmu.h"
#include "sidra_mutex.h"
#include "sidra_queue.h"
#include "sidra_queue_memory.h"
#include "sidra_quiesce.h"
#include "sidra_refusal.h"
#include "sidra_submit.h"
#include "sidra_table.h"
#include "sidra_trace.h"

/* ---- The chip's side ---- */

static void sidra_queue_install(struct sidra_ctx *ctx, struct sidra_queue *queue, u64 start)
{
	bool kernel = queue->kind == SIDRA_QUEUE_KERNEL;
	struct sidra_hw_queue entry = {
		.ring = cpu_to_le64(kernel ? queue->ring_bus : queue->ring_va),
		.write_index = cpu_to_le64(kernel ? queue->index_bus :
						    queue->ring_va + queue->index_offset),
		.state = cpu_to_le64(queue->state_bus),
		.report = queue->report_offset ?
				  cpu_to_le64(queue->ring_va + queue->report_offset) :
				  0,
		.start_index = cpu_to_le64(start),
		.generation = cpu_to_le32(ctx->generation),
		.flags = cpu_to_le32(SIDRA_HW_QUEUE_VALID | (kernel ? SIDRA_HW_QUEUE_KERNEL : 0)),
		.ring_log2 = queue->ring_log2,
		.priority = queue->priority,
		.vector = cpu_to_le16(queue->timeline.vector->number),
		.epoch = cpu_to_le32(sidra_epochs_current(&queue->timeline.epochs)),
	};

	sidra_entry_publish(&ctx->queue_table[queue->number], &entry, sizeof(entry),
			    offsetof(struct sidra_hw_queue, flags));
	sidra_timeline_loaded(ctx->sdev, &queue->timeline);
}

void sidra_queue_ring_all(struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long number;

	xa_for_each(&ctx->queues, number, queue)
		sidra_write32(ctx->sdev, SIDRA_DOORBELL(ctx->slot, number), 1);
}

/* Makes the entry invalid and clears its epoch: no packet of the queue will run. */
static void sidra_queue_clear_entry(struct sidra_hw_queue *entry)
{
	sidra_entry_revoke(&entry->flags);
	WRITE_ONCE(entry->epoch, 0);
}

/*
 * Ends the queue's epoch on the chip. SEM_WAITs of other queues for that epoch are evaluated again.
 * The result is that of sidra_quiesce(); in any case the chip no longer runs the queue.
 */
static int sidra_queue_reset_on_chip(struct sidra_ctx *ctx, struct sidra_queue *queue,
				     enum sidra_fault_cause cause)
{
	struct sidra_hw_queue *entry = &ctx->queue_table[queue->number];
	int ret;

	sidra_entry_revoke(&entry->flags);
	ret = sidra_quiesce(ctx, SIDRA_ADMIN_RESET_QUEUE, queue->number,
			    sidra_epochs_current(&queue->timeline.epochs) | (u64)cause << 32);
	sidra_queue_clear_entry(entry);
	return ret;
}

/*
 * The comparison is signed: a record of all ones, from a chip that does not answer, must not stay
 * the latest for ever.
 */
void sidra_fault_keep_latest(struct sidra_fault *latest, const struct sidra_fault *fault)
{
	if (fault->cause != cpu_to_le16(SIDRA_FAULT_NONE) &&
	    (latest->cause == cpu_to_le16(SIDRA_FAULT_NONE) ||
	     (s64)le64_to_cpu(fault->clock_ns) >= (s64)le64_to_cpu(latest->clock_ns)))
		*latest = *fault;
}

/* Keeps its fault record for CONTEXT_QUERY. The chip no longer writes its state page. */
static void sidra_queue_remember_fault(struct sidra_ctx *ctx, const struct sidra_queue *queue)
{
	sidra_fault_keep_latest(&ctx->fault, &queue->timeline.state->fault);
}

/* Assigns an epoch that no other queue of the context has; never 0. */
static u32 sidra_queue_next_epoch(struct sidra_ctx *ctx)
{
	sidra_ctx_assert_held(ctx);
	if (!++ctx->last_epoch)
		ctx->last_epoch++;
	return ctx->last_epoch;
}

void sidra_queue_stop(struct sidra_queue *queue, u32 run_state, enum sidra_fault_cause cause)
{
	struct sidra_queue_state *state = queue->timeline.state;
	struct sidra_device *sdev = queue->sdev;

	lockdep_assert_held(&sdev->reset_lock);
	if (state->fault.cause == cpu_to_le16(SIDRA_FAULT_NONE) && cause != SIDRA_FAULT_NONE) {
		u64 clock = sdev->stopped || sdev->link_gone ? 0 :
							       sidra_read64(sdev, SIDRA_REG_CLOCK),
		    sequence = sidra_timeline_value(&queue->timeline);
		struct sidra_fault fault = {
			.clock_ns = cpu_to_le64(clock),
			.sequence = cpu_to_le64(sequence),
			.context = cpu_to_le32(queue->slot),
			.queue = cpu_to_le32(queue->number),
			.cause = cpu_to_le16(cause),
		};

		state->fault = fault;
		trace_sidra_fault(sdev->ordinal, queue->slot, queue->number, cause, sequence, 0);
	}
	/* After the fault record */
	smp_store_release(&state->run_state, cpu_to_le32(run_state));
	sidra_timeline_wake(sdev, &queue->timeline);
	sidra_submit_fail(queue, -EIO);
}

void sidra_queue_time_out(struct sidra_ctx *ctx, struct sidra_queue *queue)
{
	int ret;

	dev_warn_ratelimited(ctx->sdev->drm.dev,
			     "queue %u of context %u makes no progress: stopped\n",
			     queue->number, queue->slot);
	sidra_coredump(ctx->sdev, "queue-timeout", "queue %u of context %u", queue->number,
		       queue->slot);
	ret = sidra_queue_reset_on_chip(ctx, queue, SIDRA_FAULT_TIMEOUT);
	sidra_submit_fail(queue, -ETIMEDOUT);
	if (!ret)
		sidra_queue_stop(queue, SIDRA_QUEUE_FAULTED, SIDRA_FAULT_TIMEOUT);
}

/*
 * Whether the next packet to retire is a SEM_WAIT. In a CALL, packets before a SEM_WAIT may have
 * been executed already.
 */
static bool sidra_queue_is_at_sem_wait(const struct sidra_queue *queue)
{
	u64 at = (sidra_timeline_value(&queue->timeline) & (sidra_queue_capacity(queue) - 1)) *
		 sizeof(union sidra_cmd);
	const union sidra_cmd *packet = page_address(queue->pages[at >> PAGE_SHIFT]) +
		offset_in_page(at);

	return READ_ONCE(packet->hdr.opcode) == SIDRA_CMD_SEM_WAIT;
}

bool sidra_queue_drained(const struct sidra_queue *queue)
{
	if (sidra_timeline_stopped(&queue->timeline) || !sidra_queue_unretired(queue))
		return true;
	return queue->kind == SIDRA_QUEUE_USER && READ_ONCE(queue->timeline.state->parked) &&
	       sidra_queue_is_at_sem_wait(queue);
}

void sidra_queue_resume(struct sidra_ctx *ctx, struct sidra_queue *queue)
{
	queue->watch.stalled_checks = 0;
	if (sidra_timeline_stopped(&queue->timeline)) {	/* it stays stopped until QUEUE_RESET */
		sidra_queue_clear_entry(&ctx->queue_table[queue->number]);
	} else {
		sidra_use_restart(&queue->use);
		if (sidra_timeline_run_state(&queue->timeline) == SIDRA_QUEUE_STOPPED) {
			/* Hides the suspend from its owner, who acquires the run state. */
			smp_store_release(&queue->timeline.state->run_state,
					  cpu_to_le32(SIDRA_QUEUE_RUNNING));
		}
		sidra_queue_install(ctx, queue, sidra_timeline_value(&queue->timeline));
	}
	if (queue->kind == SIDRA_QUEUE_KERNEL)
		sidra_submit_resume(queue);
}

/* Takes a number for a queue, and counts it. */
static int sidra_queue_reserve(struct sidra_ctx *ctx, u32 *number)
{
	struct sidra_device *sdev = ctx->sdev;
	int ret;

	if (!atomic_add_unless(&sdev->queue_count, 1, sdev->chip.info.queues))
		return -EMFILE;
	ret = xa_alloc(&ctx->queues, number, NULL,
		       XA_LIMIT(0, sdev->chip.info.queues_per_context - 1), GFP_KERNEL_ACCOUNT);
	if (!ret) {
		ret = sidra_user_charge(sdev, ctx->user, SIDRA_RESOURCE_QUEUES, 1);
		if (!ret)
			return 0;
		xa_erase(&ctx->queues, *number);
	}
	atomic_dec(&sdev->queue_count);
	return ret == -EBUSY ? -EMFILE : ret;
}

/* Undoes that. */
static void sidra_queue_unreserve(struct sidra_ctx *ctx, u32 number)
{
	xa_erase(&ctx->queues, number);
	atomic_dec(&ctx->sdev->queue_count);
	sidra_user_uncharge(ctx->sdev, ctx->user, SIDRA_RESOURCE_QUEUES, 1);
}

void sidra_queue_drop(struct sidra_ctx *ctx, struct sidra_queue *queue)
{
	struct sidra_device *sdev = ctx->sdev;

	sidra_ctx_assert_held(ctx);
	sidra_queue_clear_entry(&ctx->queue_table[queue->number]);
	sidra_queue_unreserve(ctx, queue->number);
	smp_store_release(&queue->destroyed, true);	/* before waiters are woken */
	/* Read by its owner */
	smp_store_release(&queue->timeline.state->run_state, cpu_to_le32(SIDRA_QUEUE_LOST));
	sidra_timeline_detach(sdev, &queue->timeline);
	sidra_submit_fini(queue);
	sidra_use_end(&queue->use);
	if (queue->ring_va) {
		guard(mutex)(&ctx->vm->lock);
		sidra_mmu_unmap(ctx->vm, queue->ring_va, queue->ring_size);
	}
	/* A dump reads ring and index */
	scoped_guard(mutex, &sdev->coredump.lock)
		sidra_queue_unmap_memory(queue);
	sidra_queue_put(queue);
}

void sidra_queue_remove(struct sidra_ctx *ctx, struct sidra_queue *queue)
{
	sidra_queue_reset_on_chip(ctx, queue, SIDRA_FAULT_RESET);
	sidra_queue_remember_fault(ctx, queue);
	sidra_queue_drop(ctx, queue);
}

/* ---- Calls ---- */

/* Packets and write index are mapped read-only, so that no packet of the context can write them. */
static int sidra_queue_bind_ring(struct sidra_ctx *ctx, struct sidra_queue *queue)
{
	u64 plain = queue->report_offset ?: queue->ring_size, va;
	int ret;

	CLASS(sidra_mutex, held)(&ctx->vm->lock);
	if (held.error)
		return held.error;
	ret = sidra_mmu_reserve(ctx->vm, queue->ring_size, sg_dma_address(queue->sgt.sgl), &va);
	if (ret)
		return ret;
	ret = sidra_mmu_map_sgt(ctx->vm, va, &queue->sgt, 0, plain, SIDRA_PTE_READ);
	if (!ret && queue->report_offset)
		ret = sidra_mmu_map_sgt(ctx->vm, va + plain, &queue->sgt, plain,
					queue->ring_size - plain, SIDRA_PTE_READ | SIDRA_PTE_WRITE);
	if (ret)
		sidra_mmu_unmap(ctx->vm, va, queue->ring_size);
	else
		queue->ring_va = va;
	return ret;
}

static struct sidra_queue *sidra_queue_alloc(struct sidra_ctx *ctx,
					     const struct sidra_ioctl_queue_create *args,
					     u32 number)
{
	struct sidra_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	struct sidra_device *sdev = ctx->sdev;
	u32 epoch;
	int ret;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	kref_init(&queue->ref);
	queue->sdev = sdev;
	queue->ctx_handle = ctx->handle;
	queue->slot = ctx->slot;
	queue->number = number;
	queue->kind = args->kind;
	queue->ring_log2 = args->ring_log2;
	queue->priority = args->priority;
	queue->index_offset = (u64)SIDRA_CMD_SIZE << args->ring_log2;
	queue->ring_size = queue->index_offset + PAGE_SIZE;
	if (args->flags & SIDRA_QUEUE_REPORTS) {
		queue->report_offset = queue->ring_size;
		queue->ring_size += PAGE_ALIGN((u64)sizeof(struct sidra_report) << args->ring_log2);
	}
	sidra_timeline_init(&queue->timeline, sidra_irq_vector(sdev, ctx->slot * 7 + number),
			    ctx->slot, number);
	sidra_submit_init(queue);
	ret = sidra_queue_alloc_state(queue);
	if (!ret)
		ret = args->kind == SIDRA_QUEUE_USER ? sidra_queue_alloc_user_ring(queue) :
						       sidra_queue_alloc_kernel_ring(queue);
	if (!ret && args->kind == SIDRA_QUEUE_USER)
		ret = sidra_queue_bind_ring(ctx, queue);
	if (!ret) {
		epoch = sidra_queue_next_epoch(ctx);
		queue->timeline.state->generation = cpu_to_le32(ctx->generation);
		queue->timeline.state->epoch = cpu_to_le32(epoch);
		queue->timeline.state->timeline = cpu_to_le64(args->start);
		queue->epoch_start = args->start;
		queue->reserved = args->start;
		queue->published = args->start;
		*sidra_queue_index(queue) = cpu_to_le64(args->start);
		sidra_epochs_init(&queue->timeline.epochs, epoch);
		return queue;
	}
	sidra_queue_unmap_memory(queue);
	sidra_queue_put(queue);
	return ERR_PTR(ret);
}

static int sidra_queue_create(struct sidra_ctx *ctx, struct sidra_ioctl_queue_create *args)
{
	struct sidra_device *sdev = ctx->sdev;
	struct sidra_queue *queue;
	u32 number;
	int ret;

	ret = sidra_queue_reserve(ctx, &number);
	if (ret)
		return ret;
	queue = sidra_queue_alloc(ctx, args, number);
	if (IS_ERR(queue)) {
		sidra_queue_unreserve(ctx, number);
		return PTR_ERR(queue);
	}
	sidra_timeline_attach(sdev, &queue->timeline);
	sidra_use_begin(&queue->use, ctx->account, queue->timeline.state);
	sidra_queue_install(ctx, queue, args->start);
	/* Cannot fail: the entry is allocated */
	xa_store(&ctx->queues, number, queue, GFP_KERNEL);
	sidra_watch(sdev);

	args->queue = number;
	args->state_offset = sidra_map_offset(SIDRA_MAP_STATE, ctx->handle, number);
	if (args->kind == SIDRA_QUEUE_USER) {
		args->ring_offset = sidra_map_offset(SIDRA_MAP_RING, ctx->handle, number);
		args->ring_size = queue->ring_size;
		args->report_offset = queue->report_offset;
	}
	return 0;
}

int sidra_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_queue_create *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	int ret;

	args->queue = 0;
	args->ring_offset = 0;
	args->ring_size = 0;
	args->report_offset = 0;
	args->state_offset = 0;
	ret = sidra_check_arg(file, args->kind, args->kind <= SIDRA_QUEUE_KERNEL) ?:
		/* The report ring of a kernel queue could not be mapped */
		sidra_check_bits(file, args->flags,
				 args->kind == SIDRA_QUEUE_KERNEL ? 0 : SIDRA_QUEUE_REPORTS) ?:
		sidra_check_arg(file, args->ring_log2,
				args->ring_log2 >= SIDRA_QUEUE_LOG2_MIN &&
				args->ring_log2 <= SIDRA_QUEUE_LOG2_MAX) ?:
		sidra_check_arg(file, args->priority, args->priority < SIDRA_PRIORITIES) ?:
		sidra_check_arg(file, args->start, args->start <= SIDRA_QUEUE_START_MAX) ?:
		sidra_check_zero(file, args->reserved[0]) ?:
		sidra_check_zero(file, args->reserved[1]);
	if (ret)
		return ret;
	if (args->priority == SIDRA_PRIORITIES - 1 && !capable(CAP_SYS_NICE))
		return sidra_refuse(file, args->priority, -EPERM);
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	ret = call.error ?: sidra_ctx_usable(ctx);
	return ret ?: sidra_queue_create(ctx, args);
}

int sidra_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_queue *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue;
	int ret;

	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_lock, locked)(sdev, &ctx->lock);
	if (locked.error)
		return locked.error;
	queue = ctx->dead ? NULL : xa_load(&ctx->queues, args->queue);
	if (!queue)
		return sidra_refuse(file, args->queue, -ENOENT);
	ret = sidra_vm_await_turn(ctx->vm);
	if (!ret)
		sidra_queue_remove(ctx, queue);
	return ret;
}

/*
 * Drops the packets that have not retired. The queue continues behind them, so that positions stay
 * unique, and in a new epoch, so that a dropped packet is never taken for a retired one.
 */
static int sidra_queue_reset(struct sidra_ctx *ctx, struct sidra_queue *queue,
			     struct sidra_ioctl_queue_reset *args)
{
	/* If the chip does not acknowledge, the whole context is reset */
	int ret = sidra_queue_reset_on_chip(ctx, queue, SIDRA_FAULT_RESET);
	u64 start, retired;
	u32 epoch;

	if (ret)
		return ret;

	/* The driver may write the state page until the chip loads the queue again. */
	sidra_queue_remember_fault(ctx, queue);
	sidra_use_restart(&queue->use);
	queue->watch.stalled_checks = 0;
	epoch = sidra_queue_next_epoch(ctx);
	/*
	 * Before the epoch is public: a SEM_WAIT for it, in another queue, then waits until the
	 * entry is valid, and does not fault.
	 */
	WRITE_ONCE(ctx->queue_table[queue->number].epoch, cpu_to_le32(epoch));
	if (queue->kind == SIDRA_QUEUE_KERNEL) {
		start = sidra_submit_reset(queue, epoch, &retired);
	} else {
		retired = sidra_timeline_value(&queue->timeline);
		/* Stored by its owner */
		start = le64_to_cpu(smp_load_acquire(sidra_queue_index(queue)));
		if (start - retired > sidra_queue_capacity(queue))
			/* An impossible index: assume that nothing was queued */
			start = retired;
		scoped_guard(spinlock, &queue->submit_lock)
			sidra_queue_begin_epoch(queue, epoch, retired, start);
		sidra_queue_continue(queue, start);
	}
	sidra_queue_install(ctx, queue, start);
	/* The chip publishes the new position, and runs what SUBMIT has added since. */
	sidra_write32(ctx->sdev, SIDRA_DOORBELL(ctx->slot, queue->number), 1);
	args->epoch = epoch;
	args->retired = retired;
	return 0;
}

int sidra_queue_reset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_queue_reset *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue;
	int ret;

	args->epoch = 0;
	args->retired = 0;
	ret = sidra_check_zero(file, args->flags);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	ret = call.error ?: sidra_ctx_usable(ctx) ?: sidra_admin_await_turn(sdev);
	if (ret)
		return ret;
	queue = xa_load(&ctx->queues, args->queue);
	return queue ? sidra_queue_reset(ctx, queue, args) :
		       sidra_refuse(file, args->queue, -ENOENT);
}

/* The epoch that runs, and where it began. */
static u32 sidra_queue_epoch(struct sidra_queue *queue, u64 *start)
{
	guard(spinlock)(&queue->submit_lock);
	*start = queue->epoch_start;
	return sidra_epochs_current(&queue->timeline.epochs);
}

/*
 * What changes. The epoch is read first and last: a reset in between would mix two of them. Only
 * the driver changes it, so this is repeated once for each reset at most.
 */
static void sidra_queue_look(struct sidra_queue *queue, struct sidra_ioctl_queue_query *args)
{
	const struct sidra_timeline *timeline = &queue->timeline;
	u64 start;

	do {
		args->epoch = sidra_queue_epoch(queue, &start);
		args->run_state = sidra_timeline_run_state(timeline);
		/* A reset that wakes waiters lets the timeline continue later */
		args->timeline = max(sidra_timeline_value(timeline), start);
		args->progress = le64_to_cpu(READ_ONCE(timeline->state->progress));
		/* The index of a kernel queue is freed when it is destroyed. */
		args->submitted = queue->kind == SIDRA_QUEUE_KERNEL ?
					  READ_ONCE(queue->reserved) :
					  le64_to_cpu(READ_ONCE(*sidra_queue_index(queue)));
		args->fault = (struct sidra_fault){};
		if (args->run_state == SIDRA_QUEUE_FAULTED || args->run_state == SIDRA_QUEUE_LOST)
			args->fault = timeline->state->fault;
		/* Pairs with the barrier of sidra_queue_continue(), which clears the record */
		smp_rmb();
	} while (args->epoch != sidra_queue_epoch(queue, &start));
}

int sidra_queue_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_queue_query *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue __free(sidra_queue) = NULL;
	const u32 flags = args->flags, pad = args->pad;
	int ret;

	*args = (struct sidra_ioctl_queue_query){
		.context = args->context,
		.queue = args->queue,
		.flags = flags,
		.pad = pad,
	};
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	queue = sidra_queue_find(ctx, args->queue);
	if (!queue)
		return sidra_refuse(file, args->queue, -ENOENT);
	sidra_queue_look(queue, args);
	args->kind = queue->kind;
	args->ring_log2 = queue->ring_log2;
	args->priority = queue->priority;
	args->queue_flags = queue->report_offset ? SIDRA_QUEUE_REPORTS : 0;
	return 0;
}
