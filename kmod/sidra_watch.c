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
		dev_warn_ratelimited(sdev->drm.dev,
				     "queue %u of context %u: impossible state %u or position %llu: stopped\n",
				     queue->number, queue->slot,
				     sidra_timeline_run_state(&queue->timeline),
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

static void sidra_watch_check_ctx(struct sidra_ctx *ctx, struct sidra_watched *watched)
{
	struct sidra_queue *queue;
	unsigned long number;

	lockdep_assert_held(&ctx->lock);
	if (ctx->lost)
		return;
	xa_for_each(&ctx->queues, number, queue)
		sidra_watch_check_queue(ctx, queue, watched);
}

/* A recovery that was requested comes first. */
static bool sidra_watch_has_turn(const struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->reset_lock);
	return !sdev->stopped && !READ_ONCE(sdev->recovery.requested);
}

/*
 * A call may hold its context long, so each context that is in one has a work item: waiting for all
 * of them in turn, the watchdog would be late for everybody's jobs.
 */
static void sidra_watch_busy_work(struct work_struct *work)
{
	struct sidra_watch_busy *busy = container_of(work, struct sidra_watch_busy, work);
	struct sidra_device *sdev = busy->sdev;
	struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_at(sdev, busy - sdev->watch_busy);
	struct sidra_watched watched = {};

	if (!ctx)
		return;
	guard(rwsem_read)(&sdev->reset_lock);
	guard(mutex)(&ctx->lock);
	if (sidra_watch_has_turn(sdev))
		sidra_watch_check_ctx(ctx, &watched);
}

static void sidra_watch_check_all(struct sidra_device *sdev)
{
	struct sidra_watched watched = { .asleep = sidra_irq_sleepers(sdev) };
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_at(sdev, slot);

		if (!ctx)
			continue;
		if (mutex_trylock(&ctx->lock)) {
			sidra_watch_check_ctx(ctx, &watched);
			mutex_unlock(&ctx->lock);
		} else {
			queue_work(sdev->wq, &sdev->watch_busy[slot].work);
		}
	}
	if (watched.asleep && !watched.moved)
		sidra_call_recovery_first(sdev);
}

static void sidra_watch_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(to_delayed_work(work), struct sidra_device,
						 watch_work);

	guard(rwsem_read)(&sdev->reset_lock);
	if (sidra_watch_has_turn(sdev))
		sidra_watch_check_all(sdev);
	sidra_watch(sdev);
}

void sidra_watch_init(struct sidra_device *sdev)
{
	u32 slot;

	INIT_DELAYED_WORK(&sdev->watch_work, sidra_watch_work);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		INIT_WORK(&sdev->watch_busy[slot].work, sidra_watch_busy_work);
		sdev->watch_busy[slot].sdev = sdev;
	}
}

void sidra_watch_stop(struct sidra_device *sdev)
{
	u32 slot;

	cancel_delayed_work_sync(&sdev->watch_work);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		cancel_work_sync(&sdev->watch_busy[slot].work);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_watch_kunit.c"
#endif
