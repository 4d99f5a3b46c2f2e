// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog checks periodically that queues with work make progress, and that the chip is
 * present while processes sleep. While queues make progress it only reads memory; it reads
 * registers for queues that stand still.
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_queue.h"
#include "sidra_submit.h"
#include "sidra_watch.h"

#define SUSPICIOUS	2u	/* checks without progress */

static unsigned int queue_timeout_ms = 10000;
module_param(queue_timeout_ms, uint, 0644);
MODULE_PARM_DESC(queue_timeout_ms,
		 "device time without progress after which a queue is stopped (ms)");

/* Run state IDLE means that the chip has not loaded the queue yet. */
static bool sidra_watch_has_work(struct sidra_queue *queue)
{
	u32 state = sidra_timeline_run_state(&queue->timeline);

	return (state == SIDRA_QUEUE_RUNNING || state == SIDRA_QUEUE_IDLE) &&
	       !READ_ONCE(queue->timeline.state->parked) && sidra_queue_unretired(queue);
}

/* Whether the queue has work and made no progress since the last check. */
static bool sidra_watch_stands_still(struct sidra_queue *queue)
{
	struct sidra_queue_watch *watch = &queue->watch;
	u64 progress = le64_to_cpu(READ_ONCE(queue->timeline.state->progress));

	if (sidra_watch_has_work(queue) && progress == watch->progress)
		return true;
	watch->progress = progress;
	watch->stalled_checks = 0;
	return false;
}

/*
 * The limit is in device time, because a virtual machine that stands still is not a hang of the
 * chip. If the device clock itself stands still, a long limit in wall time applies.
 */
static bool sidra_watch_overdue(struct sidra_queue *queue)
{
	struct sidra_queue_watch *watch = &queue->watch;
	u64 limit = (u64)queue_timeout_ms * NSEC_PER_MSEC, clock, wall;

	if (++watch->stalled_checks < SUSPICIOUS)
		return false;
	clock = sidra_read64(queue->sdev, SIDRA_REG_CLOCK);
	wall = ktime_get_ns();
	if (watch->stalled_checks == SUSPICIOUS) {
		watch->clock_start = clock;
		watch->wall_start = wall;
		/* Rings the doorbell again: it may have been lost, or never been rung. */
		sidra_write32(queue->sdev, SIDRA_DOORBELL(queue->slot, queue->number), 1);
		return false;
	}
	return clock - watch->clock_start > limit ||
		wall - watch->wall_start > 4 * limit + 60 * NSEC_PER_SEC;
}

/*
 * The chip's state of a queue is not trusted. In a kernel queue nobody else can have changed the
 * index.
 */
static bool sidra_watch_plausible(struct sidra_queue *queue)
{
	u64 retired = sidra_timeline_value(&queue->timeline);

	return sidra_timeline_run_state(&queue->timeline) <= SIDRA_QUEUE_LOST &&
	       (queue->kind != SIDRA_QUEUE_KERNEL || retired <= READ_ONCE(queue->reserved));
}

/* Whether a queue has work and stands still, and whether one has moved. */
struct sidra_watched {
	bool asleep, moved;
};

static void sidra_watch_check_queue(struct sidra_ctx *ctx, struct sidra_queue *queue,
				    struct sidra_watched *watched)
{
	struct sidra_device *sdev = ctx->sdev;
	u64 before = queue->watch.progress;
	bool still;

	if (!sidra_watch_plausible(queue) && !sidra_timeline_stopped(&queue->timeline)) {
		drm_warn(&sdev->drm,
			 "queue %u of context %u: impossible state %u or position %llu: stopped\n",
			 queue->number, queue->slot, sidra_timeline_run_state(&queue->timeline),
			 sidra_timeline_value(&queue->timeline));
		sidra_queue_time_out(ctx, queue);
		return;
	}
	still = sidra_watch_stands_still(queue);
	watched->asleep |= still;
	watched->moved |= queue->watch.progress != before;
	if ((sidra_submit_late(queue) || (still && sidra_watch_overdue(queue))) &&
	    !sidra_call_recovery_first(sdev) && !sdev->link_gone)
		sidra_queue_time_out(ctx, queue);
}

static void sidra_watch_check_all(struct sidra_device *sdev)
{
	struct sidra_watched watched = { .asleep = sidra_irq_sleepers(sdev) };
	u32 slot;

	lockdep_assert_held(&sdev->reset_lock);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_at(sdev, slot);
		struct sidra_queue *queue;
		unsigned long number;

		if (!ctx)
			continue;
		guard(mutex)(&ctx->lock);
		if (ctx->lost)
			continue;
		xa_for_each(&ctx->queues, number, queue)
			sidra_watch_check_queue(ctx, queue, &watched);
	}
	if (watched.asleep && !watched.moved)
		sidra_call_recovery_first(sdev);
}

static void sidra_watch_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(to_delayed_work(work), struct sidra_device,
						 watch_work);

	guard(rwsem_read)(&sdev->reset_lock);
	/* A recovery that was requested comes first. */
	if (!sdev->stopped && !READ_ONCE(sdev->recovery.requested))
		sidra_watch_check_all(sdev);
	sidra_watch(sdev);
}

void sidra_watch_init(struct sidra_device *sdev)
{
	INIT_DELAYED_WORK(&sdev->watch_work, sidra_watch_work);
}

void sidra_watch_stop(struct sidra_device *sdev)
{
	cancel_delayed_work_sync(&sdev->watch_work);
}
