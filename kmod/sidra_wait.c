// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for timelines: WAIT sleeps, ARM signals an eventfd. A waiter arms the queue, checks the
 * timeline again, and sleeps; it also checks the timeline periodically, in case an interrupt is
 * lost.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "sidra_args.h"
#include "sidra_call.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_queue.h"
#include "sidra_refusal.h"
#include "sidra_trace.h"

#define RECHECK_NS	(50 * NSEC_PER_MSEC)	/* the delay that a lost interrupt causes */
#define FEW		2u	/* items that fit on the stack */
#define ITEM_FIRST_SIZE	24u	/* of struct sidra_wait_item in version 2.0 */

/* ---- WAIT ---- */

struct sleeper {
	struct task_struct *task;
	bool woken;
};

struct item {
	struct sidra_queue *queue;
	u64 value;
	u32 epoch;
	struct sidra_waiter waiter;
	struct sleeper *sleeper;
};

/* 0: the point was reached; -EINPROGRESS: not yet; any other error: it never will be. */
static int sidra_wait_state_of(const struct item *item)
{
	/* Before the run state, which becomes LOST later */
	bool destroyed = smp_load_acquire(&item->queue->destroyed);
	int state = sidra_timeline_check(&item->queue->timeline, item->epoch, item->value);

	/* The queue may have been destroyed since, and be LOST for that reason. */
	return state == -EIO && (destroyed || smp_load_acquire(&item->queue->destroyed)) ? -ENOENT :
											   state;
}

/* Returns 0, or the error of an item and its @index, or -EAGAIN if the wait goes on. */
static int sidra_wait_check_items(const struct item *items, u32 count, bool all, u32 *index)
{
	u32 done = 0, failed = 0, i;
	int ret = 0;

	for (i = 0; i < count; i++) {
		int state = sidra_wait_state_of(&items[i]);

		if (!state) {
			done++;
			if (all)
				continue;
			*index = i;
			return 0;
		}
		if (state == -EINPROGRESS || ret)
			continue;
		ret = state;
		failed = i;
	}
	*index = ret ? failed : 0;
	if (done == count)
		return 0;
	return ret ?: -EAGAIN;
}

static void sidra_wait_wake(struct sidra_waiter *waiter)
{
	struct item *item = container_of(waiter, struct item, waiter);

	WRITE_ONCE(item->sleeper->woken, true);
	wake_up_process(item->sleeper->task);
}

/* Sleeps until a waiter was fired or the time @until; returns 1, 0, or -ERESTARTSYS. */
static int sidra_wait_sleep_queued(struct sidra_device *sdev, struct item *items, u32 count,
				   bool all, u64 until)
{
	struct sleeper sleeper = { .task = current };
	ktime_t expires = ns_to_ktime(min_t(u64, until, KTIME_MAX));
	u32 i, index;

	for (i = 0; i < count; i++) {
		items[i].sleeper = &sleeper;
		items[i].waiter = (struct sidra_waiter){ .value = items[i].value,
							 .epoch = items[i].epoch,
							 .fire = sidra_wait_wake };
		if (sidra_wait_state_of(&items[i]))
			sidra_waiter_add(sdev, &items[i].queue->timeline, &items[i].waiter);
	}
	set_current_state(TASK_INTERRUPTIBLE);
	if (!READ_ONCE(sleeper.woken) &&
	    sidra_wait_check_items(items, count, all, &index) == -EAGAIN &&
	    !signal_pending(current))
		schedule_hrtimeout_range(&expires, 50 * NSEC_PER_USEC, HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
	for (i = 0; i < count; i++)
		sidra_waiter_del(sdev, &items[i].queue->timeline, &items[i].waiter);
	if (signal_pending(current))
		return -ERESTARTSYS;
	return READ_ONCE(sleeper.woken) ? 1 : 0;
}

static int sidra_wait_wait(struct sidra_device *sdev, struct item *items,
			   struct sidra_ioctl_wait *args)
{
	bool all = args->flags & SIDRA_WAIT_ALL;
	int ret, gone = 0;
	u64 now;

	for (;;) {
		ret = sidra_wait_check_items(items, args->count, all, &args->index);
		if (ret != -EAGAIN)
			return ret;
		if (gone)
			return gone;
		now = args->deadline ? ktime_get_ns() : 0;
		if (!args->deadline || now >= args->deadline)
			return -ETIMEDOUT;
		ret = sidra_wait_sleep_queued(sdev, items, args->count, all,
					      min(args->deadline, now + RECHECK_NS));
		if (ret < 0)
			return sidra_wait_check_items(items, args->count, all, &args->index) == 0 ?
				0 :
				ret;
		if (!ret && ktime_get_ns() < args->deadline)
			/* No interrupt: the chip may have been removed */
			gone = sidra_probe_device(sdev);
	}
}

static void sidra_wait_trace_end(const struct item *item, int result)
{
	const struct sidra_queue *queue = item->queue;

	trace_sidra_wait_end(queue->sdev->ordinal, queue->slot, queue->number, item->value, result);
}

static int sidra_wait_read_item(struct drm_file *file, const struct sidra_ioctl_wait *args, u32 i,
				struct sidra_wait_item *item)
{
	int ret = sidra_args_read(item, sizeof(*item), args->items + (u64)i * args->stride,
				  args->stride);

	if (ret == -EFAULT)
		return sidra_refuse(file, args->items, ret);
	if (ret)	/* its end, which the driver does not know, is not zero */
		return sidra_refuse(file, args->stride, ret);
	if (item->pad)
		return sidra_refusal_note_element(file, "items", i, "pad", item->pad, -EINVAL);
	if (!item->epoch)
		return sidra_refusal_note_element(file, "items", i, "epoch", 0, -EINVAL);
	return 0;
}

static int sidra_wait_find_queue(struct drm_file *file, const struct sidra_wait_item *item, u32 i,
				 struct sidra_queue **queue)
{
	struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_find(file->driver_priv, item->context);

	if (!ctx)
		return sidra_refusal_note_element(file, "items", i, "context", item->context,
						  -ENOENT);
	*queue = sidra_queue_find(ctx, item->queue);
	if (!*queue)
		return sidra_refusal_note_element(file, "items", i, "queue", item->queue, -ENOENT);
	return 0;
}

int sidra_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_wait *args = data;
	struct item few[FEW] = {}, *items = few;
	struct item *many __free(kfree) = NULL;
	struct sidra_wait_item item;
	int ret;
	u32 i;

	args->index = 0;
	ret = sidra_check_bits(file, args->flags, SIDRA_WAIT_ALL) ?:
		sidra_check_arg(file, args->count,
				args->count && args->count <= SIDRA_WAIT_MAX) ?:
		sidra_check_stride(file, args->stride, ITEM_FIRST_SIZE);
	if (ret)
		return ret;
	if (args->count > FEW) {
		many = kcalloc(args->count, sizeof(*many), GFP_KERNEL_ACCOUNT);
		if (!many)
			return -ENOMEM;
		items = many;
	}
	for (i = 0; i < args->count; i++) {
		ret = sidra_wait_read_item(file, args, i, &item);
		if (!ret)
			ret = sidra_wait_find_queue(file, &item, i, &items[i].queue);
		if (ret) {
			args->index = i;
			break;
		}
		items[i].value = item.value;
		items[i].epoch = item.epoch;
		trace_sidra_wait(items[i].queue->sdev->ordinal, items[i].queue->slot,
				 items[i].queue->number, item.value);
	}
	if (!ret)
		ret = sidra_wait_wait(to_sidra(drm), items, args);
	for (i = 0; i < args->count && items[i].queue && trace_sidra_wait_end_enabled(); i++)
		if (ret || !sidra_wait_state_of(&items[i]))
			sidra_wait_trace_end(&items[i], ret);
	for (i = 0; i < args->count && items[i].queue; i++)
		sidra_queue_put(items[i].queue);
	return ret;
}

/* ---- ARM ---- */

struct event {
	struct sidra_waiter waiter;
	struct eventfd_ctx *ctx;
	/* Valid: closing the file first destroys its contexts, and so fires all events */
	struct sidra_file *sfile;
};

static void sidra_wait_free_event(struct event *event)
{
	eventfd_ctx_put(event->ctx);
	sidra_notification_put(event->sfile);
	kfree(event);
}

static void sidra_wait_signal_event(struct sidra_waiter *waiter)
{
	struct event *event = container_of(waiter, struct event, waiter);

	eventfd_signal(event->ctx);
	sidra_wait_free_event(event);
}

/*
 * Cancels notifications by eventfd for a value: one at a time, and no more than can exist when the
 * call begins.
 */
static void sidra_wait_cancel_events(struct sidra_device *sdev, struct sidra_queue *queue,
				     u64 value)
{
	struct sidra_waiter *waiter;
	unsigned int i;

	for (i = 0; i < SIDRA_NOTIFICATIONS_MAX; i++) {
		waiter = sidra_waiter_take(sdev, &queue->timeline, value, sidra_wait_signal_event);
		if (!waiter)
			break;
		sidra_wait_free_event(container_of(waiter, struct event, waiter));
	}
}

static struct event *sidra_wait_create_event(struct drm_file *file,
					     const struct sidra_ioctl_arm *args)
{
	/* Stays valid if the caller closes the descriptor */
	struct eventfd_ctx *ctx = eventfd_ctx_fdget(args->eventfd);
	struct sidra_file *sfile = file->driver_priv;
	struct event *event;

	if (IS_ERR(ctx)) {
		sidra_refuse(file, args->eventfd, PTR_ERR(ctx));
		return ERR_CAST(ctx);
	}
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event || !sidra_notification_get(sfile)) {
		kfree(event);
		eventfd_ctx_put(ctx);
		return ERR_PTR(event ? -ENOSPC : -ENOMEM);
	}
	event->ctx = ctx;
	event->sfile = sfile;
	event->waiter = (struct sidra_waiter){
		.value = args->value,
		.epoch = args->epoch,
		.sleeper = true,
		.fire = sidra_wait_signal_event,
	};
	return event;
}

int sidra_arm_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_arm *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue __free(sidra_queue) = NULL;
	struct event *event;
	int ret;

	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad) ?:
		sidra_check_arg(file, args->epoch, args->epoch);
	if (ret)
		return ret;
	if (args->eventfd < -1)
		return sidra_refuse(file, args->eventfd, -EBADF);
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	if (READ_ONCE(ctx->lost))
		return -ESTALE;
	queue = sidra_queue_find(ctx, args->queue);
	if (!queue)
		return sidra_refuse(file, args->queue, -ENOENT);
	if (args->eventfd == -1) {
		sidra_wait_cancel_events(sdev, queue, args->value);
		return 0;
	}
	if (sidra_timeline_check(&queue->timeline, args->epoch, args->value) == -ECANCELED)
		return -ECANCELED;
	event = sidra_wait_create_event(file, args);
	if (IS_ERR(event))
		return PTR_ERR(event);
	/* It may be fired and freed before this returns: also by a reset since the check */
	sidra_waiter_add(sdev, &queue->timeline, &event->waiter);
	return 0;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_wait_kunit.c"
#endif
