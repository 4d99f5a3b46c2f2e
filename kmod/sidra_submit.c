// SPDX-License-Identifier: GPL-2.0-only
#include <linux/blkdev.h>
#include <linux/dma-fence.h>
#include <linux/dma-fence-chain.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

#include <drm/drm_syncobj.h>

#include "sidra_args.h"
#include "sidra_chip.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_ioctl.h"
#include "sidra_queue.h"
#include "sidra_queue_memory.h"
#include "sidra_refusal.h"
#include "sidra_reset.h"
#include "sidra_submit.h"
#include "sidra_trace.h"
#include "sidra_watch.h"

#define SUBMIT_MAX	4096u	/* packets */
#define SUBMIT_STACK	16u	/* packets that fit on the stack */
#define POINTS_MAX	64u	/* syncobj points of each direction */
#define POINT_FIRST_SIZE 16u	/* of struct sidra_syncobj_point in version 2.0 */
#define WATCH_MS	100
/* Longer than resets of queue, context and device take together */
#define LAST_RESORT_NS	(10 * NSEC_PER_SEC)

static unsigned int job_timeout_ms = 10000;
module_param(job_timeout_ms, uint, 0644);
MODULE_PARM_DESC(job_timeout_ms,
		 "longest device time of a job with fences, also without a limit in SUBMIT (ms)");

struct sidra_dep {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct sidra_job *job;
};

/**
 * struct sidra_job - packets with fences; lives as long as its fence
 * @fence: signals when the last packet has retired, or with an error
 * @lock: of @fence
 * @link: in sidra_queue.jobs, which holds a reference to the fence
 * @queue: its queue, with a reference
 * @waiter: fires when the timeline reaches @value; holds a reference to the fence while queued
 * @epoch: epoch of @begin and @value
 * @begin: ring index of its first packet
 * @value: ring index behind its last packet
 * @limit_ns: limit in device time, counted from when its packets are the first unfinished ones of
 *            the queue. Packets without fences before them have job_timeout_ms, counted from when
 *            the job is the first unfinished one
 * @begun: the watchdog has seen that the packets before it have retired
 * @clock_start: device time when the watchdog first saw it as the one or the other
 * @wall_start: wall time at that moment
 * @late_since: wall time when the watchdog found it overdue, or 0
 * @waiting: number of in-fences that have not signalled, plus one until callbacks are on all of
 *           them
 * @in_error: error of an in-fence; the job does not run then, and the queue stops at it
 * @ready: its packets may be published
 * @dep_count: number of @deps
 * @deps: its in-fences, with references until it has left the queue's list
 */
struct sidra_job {
	struct dma_fence fence;
	spinlock_t lock;	/* Protects @fence. */
	struct list_head link;
	struct sidra_queue *queue;
	struct sidra_waiter waiter;
	u32 epoch;
	u64 begin, value;
	u64 limit_ns;
	bool begun;
	u64 clock_start, wall_start, late_since;
	atomic_t waiting;
	int in_error;
	bool ready;
	u32 dep_count;
	struct sidra_dep deps[];
};

/* ---- Fences ---- */

static const char *sidra_submit_fence_driver_name(struct dma_fence *fence)
{
	return "sidra";
}

static const char *sidra_submit_fence_timeline_name(struct dma_fence *fence)
{
	return "sidra-queue";
}

static void sidra_submit_job_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct sidra_job, fence.rcu));
	module_put(THIS_MODULE);
}

static void sidra_submit_put_deps(struct sidra_job *job)
{
	while (job->dep_count)
		dma_fence_put(job->deps[--job->dep_count].fence);
}

static void sidra_submit_fence_release(struct dma_fence *fence)
{
	struct sidra_job *job = container_of(fence, struct sidra_job, fence);

	sidra_submit_put_deps(job);	/* only of a job that was never in a queue's list */
	sidra_queue_put(job->queue);
	call_rcu(&fence->rcu, sidra_submit_job_free);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = sidra_submit_fence_driver_name,
	.get_timeline_name = sidra_submit_fence_timeline_name,
	.release = sidra_submit_fence_release,
};

/* Signals the fence, unless it is signalled already. */
static void sidra_submit_signal_job(struct sidra_job *job, int error)
{
	guard(spinlock_irqsave)(&job->lock);
	if (test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &job->fence.flags))
		return;
	if (error)
		dma_fence_set_error(&job->fence, error);
	trace_sidra_fence(job->queue->sdev->ordinal, job->queue->slot, job->queue->number,
			  job->value, error);
	dma_fence_signal_locked(&job->fence);
}

/* Schedules publish_work, in any context. */
static void sidra_submit_kick_publish(struct sidra_queue *queue)
{
	sidra_queue_get(queue);
	if (!queue_work(queue->sdev->fence_wq, &queue->publish_work))
		sidra_queue_put(queue);
}

static void sidra_submit_job_fire(struct sidra_waiter *waiter)
{
	struct sidra_job *job = container_of(waiter, struct sidra_job, waiter);
	int result = sidra_timeline_check(&job->queue->timeline, job->epoch, job->value);

	sidra_submit_signal_job(job, job->in_error ?: result == -EINPROGRESS ? -EIO : result);
	sidra_submit_kick_publish(job->queue);	/* removes the job from the list */
	dma_fence_put(&job->fence);
}

/* ---- The ring ---- */

/*
 * Stops the queue at a job whose in-fence failed, because neither it nor the jobs behind it may
 * look retired.
 */
static void sidra_submit_stop_at_job(struct sidra_queue *queue, struct sidra_job *job)
{
	u64 mask = sidra_queue_capacity(queue) - 1;

	queue->ring[job->begin & mask] = (union sidra_cmd){ .hdr.opcode = SIDRA_CMD_INVALID };
}

/* Publishes packets to the chip as far as fences allow. */
static void sidra_submit_publish(struct sidra_queue *queue)
{
	u64 target = queue->reserved;
	struct sidra_job *job, *next;

	lockdep_assert_held(&queue->submit_lock);
	/* The chip may have been stopped or removed. */
	if (!queue->index || READ_ONCE(queue->sdev->quiescing) || READ_ONCE(queue->sdev->stopped) ||
	    sidra_timeline_stopped(&queue->timeline))
		return;
	list_for_each_entry_safe(job, next, &queue->jobs, link) {
		if (!smp_load_acquire(&job->ready)) {	/* pairs with the release after in_error */
			target = job->begin;
			break;
		}
		if (job->in_error)
			sidra_submit_stop_at_job(queue, job);
		list_move_tail(&job->link, &queue->running);
	}
	if (target == queue->published)
		return;
	dma_wmb();	/* packets before the index */
	WRITE_ONCE(*queue->index, cpu_to_le64(target));
	queue->published = target;
	wmb();		/* the index before the doorbell */
	trace_sidra_doorbell(queue->sdev->ordinal, queue->slot, queue->number, target);
	sidra_write32(queue->sdev, SIDRA_DOORBELL(queue->slot, queue->number), 1);
}

static void sidra_submit_take_signalled(struct list_head *jobs, struct list_head *finished)
{
	struct sidra_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link) {
		if (!smp_load_acquire(&job->ready) ||	/* pairs with the release after in_error */
		    !test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &job->fence.flags))
			break;
		list_move_tail(&job->link, finished);
	}
}

/*
 * Takes finished jobs off the queue's lists. They finish in ring order, so this need not look
 * behind the first that has not; the last one to finish takes those that overtook it.
 */
static void sidra_submit_take_finished(struct sidra_queue *queue, struct list_head *finished)
{
	lockdep_assert_held(&queue->submit_lock);
	sidra_submit_take_signalled(&queue->running, finished);
	sidra_submit_take_signalled(&queue->jobs, finished);	/* of a queue that has stopped */
}

static void sidra_submit_take_all(struct sidra_queue *queue, struct list_head *jobs)
{
	lockdep_assert_held(&queue->submit_lock);
	list_splice_init(&queue->running, jobs);
	list_splice_tail_init(&queue->jobs, jobs);
}

/* Removes the callbacks of the in-fences, or waits for those that are being called. */
static void sidra_submit_forget_deps(struct sidra_job *job)
{
	u32 i;

	for (i = 0; i < job->dep_count; i++)
		dma_fence_remove_callback(job->deps[i].fence, &job->deps[i].cb);
}

/*
 * Drops the list's reference to a job. A job that is in no list holds no other job: otherwise a
 * chain of jobs, each of which has waited for the one before, would live as long as the last one,
 * and its end would be a recursion as deep as the chain is long. Called without locks, as others'
 * fences may be released.
 */
static void sidra_submit_drop_job(struct sidra_job *job)
{
	sidra_submit_forget_deps(job);
	sidra_submit_put_deps(job);
	dma_fence_put(&job->fence);
}

/* Publishes, unless the queue was destroyed meanwhile, and drops the caller's reference. */
static void sidra_submit_publish_put(struct sidra_queue *queue, bool poll)
{
	bool cookie = dma_fence_begin_signalling();
	struct sidra_job *job, *next;
	LIST_HEAD(finished);
	u64 published;

	scoped_guard(spinlock, &queue->submit_lock) {
		if (!queue->destroyed)
			sidra_submit_publish(queue);
		sidra_submit_take_finished(queue, &finished);
		published = queue->published;
	}
	list_for_each_entry_safe(job, next, &finished, link)
		sidra_submit_drop_job(job);
	if (poll)
		sidra_uring_req_poll(&queue->timeline, published);
	sidra_uring_req_arm(queue->sdev, &queue->timeline);
	dma_fence_end_signalling(cookie);
	sidra_queue_put(queue);
}

static void sidra_submit_publish_work(struct work_struct *work)
{
	sidra_submit_publish_put(container_of(work, struct sidra_queue, publish_work), false);
}

/**
 * struct sidra_plug - delays the doorbell of a queue while the task is plugged
 * @cb: its data is the queue, with a reference
 * @file: of the batch's first command, with a reference. io_uring drops its own before it unplugs
 *        the task, and only an open file keeps the device and this module.
 *
 * io_uring plugs the task for a batch of three or more commands. The doorbell is rung once, at the
 * end of the batch, or when the task sleeps within it.
 */
struct sidra_plug {
	struct blk_plug_cb cb;
	struct file *file;
};

static void sidra_submit_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct sidra_plug *plug = container_of(cb, struct sidra_plug, cb);
	struct file *file = plug->file;
	struct sidra_queue *queue = cb->data;

	kfree(plug);
	sidra_submit_publish_put(queue, !from_schedule);
	fput(file);
}

/* Whether sidra_submit_unplug() will publish the packets. */
static bool sidra_submit_plugged(struct sidra_queue *queue, struct file *file)
{
	struct blk_plug_cb *cb = blk_check_plugged(sidra_submit_unplug, queue,
						   sizeof(struct sidra_plug));
	struct sidra_plug *plug;

	if (!cb)
		return false;
	plug = container_of(cb, struct sidra_plug, cb);
	if (!plug->file) {
		sidra_count(queue->sdev, submit_allocations);
		sidra_queue_get(queue);
		plug->file = get_file(file);
	}
	return true;
}

u32 sidra_submit_forbidden(const union sidra_cmd *packets, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (packets[i].hdr.opcode == SIDRA_CMD_SEM_WAIT ||
		    packets[i].hdr.opcode == SIDRA_CMD_SEM_SIGNAL)
			break;
	return i;
}

/*
 * Starts the watchdog. Not called after sidra_submit_fini() has taken the lock, so no timer
 * outlives the workqueue.
 */
static void sidra_submit_watch(struct sidra_queue *queue)
{
	lockdep_assert_held(&queue->submit_lock);
	sidra_queue_get(queue);
	if (!queue_delayed_work(queue->sdev->fence_wq, &queue->watchdog,
				msecs_to_jiffies(WATCH_MS)))
		sidra_queue_put(queue);
}

/*
 * Number of free ring slots. The packets of a former epoch were dropped, although the timeline says
 * so only when a reset has woken all waiters. An impossible timeline, which the chip writes, leaves
 * no slots.
 */
static u64 sidra_submit_free_slots(const struct sidra_queue *queue)
{
	u64 capacity = sidra_queue_capacity(queue),
	    begin = max(sidra_timeline_value(&queue->timeline), queue->epoch_start),
	    taken = queue->reserved - begin;

	return taken > capacity ? 0 : capacity - taken;
}

static int sidra_submit_put_packets(struct sidra_queue *queue, const union sidra_cmd *packets,
				    u32 count, struct sidra_job *job, struct sidra_uring_req *req,
				    bool later, u64 *value, u32 *epoch)
{
	u64 capacity = sidra_queue_capacity(queue), i;

	if (queue->destroyed)
		return -ENOENT;
	if (sidra_timeline_stopped(&queue->timeline))
		return -EIO;
	if (count > capacity)
		return -EINVAL;
	if (count > sidra_submit_free_slots(queue))
		return -EBUSY;
	for (i = 0; i < count; i++)
		queue->ring[(queue->reserved + i) & (capacity - 1)] = packets[i];
	if (req) {
		req->value = queue->reserved + count;
		if (!sidra_uring_req_add(queue->sdev, &queue->timeline, req))
			return -ENOENT;
	}
	/* It cannot change meanwhile: a reset takes the lock. */
	*epoch = sidra_epochs_current(&queue->timeline.epochs);
	if (job) {
		job->epoch = *epoch;
		job->begin = queue->reserved;
		job->value = queue->reserved + count;
		job->waiter.value = job->value;
		job->waiter.epoch = *epoch;
		dma_fence_get(&job->fence);	/* for the list */
		list_add_tail(&job->link, &queue->jobs);
		dma_fence_get(&job->fence);	/* for @waiter */
		sidra_submit_watch(queue);
	}
	queue->reserved += count;
	*value = queue->reserved;
	trace_sidra_submit(queue->sdev->ordinal, queue->slot, queue->number, *value, count);
	if (!later)
		sidra_submit_publish(queue);
	return 0;
}

int sidra_submit_packets(struct sidra_queue *queue, const union sidra_cmd *packets, u32 count,
			 struct sidra_job *job, struct sidra_uring_req *req, struct file *file,
			 u64 *value, u32 *epoch)
{
	struct sidra_device *sdev = queue->sdev;
	bool later = file && sidra_submit_plugged(queue, file);
	int ret;

	scoped_guard(spinlock, &queue->submit_lock)
		ret = sidra_submit_put_packets(queue, packets, count, job, req, later, value,
					       epoch);
	if (ret)
		return ret;
	sidra_count(sdev, submits);
	if (req && !later) {
		sidra_uring_req_poll(&queue->timeline, *value);
		sidra_uring_req_arm(sdev, &queue->timeline);
	}
	if (job)
		sidra_waiter_add(sdev, &queue->timeline, &job->waiter);
	return 0;
}

/* ---- In-fences ---- */

/* A point of a timeline has a fence of its own, which never fails, around that of the producer. */
static int sidra_submit_fence_error(struct dma_fence *fence)
{
	return READ_ONCE(dma_fence_chain_contained(fence)->error);
}

static void sidra_submit_dep_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct sidra_dep *dep = container_of(cb, struct sidra_dep, cb);
	struct sidra_job *job = dep->job;
	int error = sidra_submit_fence_error(fence);

	if (error)
		WRITE_ONCE(job->in_error, error);
	if (!atomic_dec_and_test(&job->waiting))
		return;
	smp_store_release(&job->ready, true);	/* after in_error */
	sidra_submit_kick_publish(job->queue);
}

/* Adds callbacks to all in-fences. Called before the job is in a queue. */
static void sidra_submit_wait_for_deps(struct sidra_job *job)
{
	u32 i;

	for (i = 0; i < job->dep_count; i++) {
		atomic_inc(&job->waiting);
		if (dma_fence_add_callback(job->deps[i].fence, &job->deps[i].cb,
					   sidra_submit_dep_signalled)) {
			int error = sidra_submit_fence_error(job->deps[i].fence);

			if (error)
				job->in_error = error;
			atomic_dec(&job->waiting);
		}
	}
	if (atomic_dec_and_test(&job->waiting))
		smp_store_release(&job->ready, true);	/* after in_error */
}

/* ---- The end of a queue's jobs ---- */

/*
 * The error of a job that ends with @error unless it has retired: then its waiter has not fired
 * yet, or its SUBMIT is about to add it. WAIT for its point succeeds, and so must its fence.
 */
static int sidra_submit_end_error(const struct sidra_job *job, int error)
{
	if (job->in_error)
		return job->in_error;
	return sidra_timeline_check(&job->queue->timeline, job->epoch, job->value) ? error : 0;
}

static void sidra_submit_end_jobs(struct sidra_queue *queue, struct list_head *jobs, int error)
{
	struct sidra_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link) {
		sidra_submit_forget_deps(job);
		sidra_submit_signal_job(job, sidra_submit_end_error(job, error));
		if (sidra_waiter_del(queue->sdev, &queue->timeline, &job->waiter))
			dma_fence_put(&job->fence);
		sidra_submit_drop_job(job);
		cond_resched();		/* there may be 65,536 */
	}
}

void sidra_submit_fail(struct sidra_queue *queue, int error)
{
	LIST_HEAD(jobs);

	scoped_guard(spinlock, &queue->submit_lock)
		sidra_submit_take_all(queue, &jobs);
	sidra_submit_end_jobs(queue, &jobs, error);
}

u64 sidra_submit_reset(struct sidra_queue *queue, u32 epoch, u64 *retired)
{
	LIST_HEAD(jobs);
	u64 start;

	/*
	 * A concurrent submit is dropped if it comes before this lock, and runs in the new epoch if
	 * it comes after it.
	 */
	scoped_guard(spinlock, &queue->submit_lock) {
		sidra_submit_take_all(queue, &jobs);
		start = queue->reserved;
		queue->published = start;
		*retired = sidra_timeline_value(&queue->timeline);
		sidra_queue_begin_epoch(queue, epoch, *retired, start);
	}
	sidra_queue_continue(queue, start);
	sidra_submit_end_jobs(queue, &jobs, -ECANCELED);
	return start;
}

void sidra_submit_hold(struct sidra_queue *queue)
{
	/* Whoever did not yet see that has released it */
	guard(spinlock)(&queue->submit_lock);
}

void sidra_submit_resume(struct sidra_queue *queue)
{
	struct sidra_job *job;

	scoped_guard(spinlock, &queue->submit_lock)
		list_for_each_entry(job, &queue->running, link)
			job->wall_start = 0;
	sidra_submit_kick_publish(queue);
}

/* The first unfinished job whose packets were published. */
static struct sidra_job *sidra_submit_running_job(struct sidra_queue *queue)
{
	struct sidra_job *job;

	lockdep_assert_held(&queue->submit_lock);
	list_for_each_entry(job, &queue->running, link)
		if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &job->fence.flags))
			return job;
	return NULL;
}

/*
 * Returns for how long, in wall time, the first job has been overdue. Its limit is in device time,
 * because a virtual machine that stands still is not a hang of the chip. If the device clock itself
 * stands still, a long limit in wall time applies.
 */
static u64 sidra_submit_overdue_ns(struct sidra_queue *queue)
{
	u64 wall = ktime_get_ns(), clock, limit;
	struct sidra_job *job;
	bool begins;

	guard(spinlock)(&queue->submit_lock);
	job = sidra_submit_running_job(queue);
	if (!job || READ_ONCE(queue->sdev->stopped))
		return 0;
	clock = sidra_read64(queue->sdev, SIDRA_REG_CLOCK);
	begins = !job->begun && sidra_timeline_value(&queue->timeline) >= job->begin;
	if (!job->wall_start || begins) {
		job->wall_start = wall;
		job->clock_start = clock;
		job->begun |= begins;
	}
	limit = job->begun ? job->limit_ns : (u64)job_timeout_ms * NSEC_PER_MSEC;
	if (clock - job->clock_start <= limit &&
	    wall - job->wall_start <= 4 * limit + 60 * NSEC_PER_SEC)
		return 0;
	if (!job->late_since)
		job->late_since = wall - 1;
	return wall - job->late_since;
}

bool sidra_submit_late(struct sidra_queue *queue)
{
	struct sidra_job *job;

	guard(spinlock)(&queue->submit_lock);
	job = sidra_submit_running_job(queue);
	return job && job->late_since;
}

/*
 * The device's watchdog stops the queue, under sidra_ctx.lock. But memory is allocated under that
 * lock, and so its holder may wait for this very fence. As a last resort the device is isolated
 * without the lock.
 */
static void sidra_submit_watchdog(struct work_struct *work)
{
	struct sidra_queue *queue = container_of(to_delayed_work(work), struct sidra_queue,
						 watchdog);
	struct sidra_device *sdev = queue->sdev;
	bool cookie = dma_fence_begin_signalling();
	u64 overdue = sidra_submit_overdue_ns(queue);

	if (overdue)
		sidra_watch_now(sdev);
	if (overdue > LAST_RESORT_NS)
		sidra_isolate_device(sdev);
	if (READ_ONCE(sdev->isolated))
		sidra_submit_fail(queue, -ETIMEDOUT);
	scoped_guard(spinlock, &queue->submit_lock)
		if (!queue->destroyed &&
		    !(list_empty(&queue->running) && list_empty(&queue->jobs)))
			sidra_submit_watch(queue);
	dma_fence_end_signalling(cookie);
	sidra_queue_put(queue);
}

void sidra_submit_init(struct sidra_queue *queue)
{
	spin_lock_init(&queue->submit_lock);
	mutex_init(&queue->fence_lock);
	INIT_LIST_HEAD(&queue->jobs);
	INIT_LIST_HEAD(&queue->running);
	INIT_WORK(&queue->publish_work, sidra_submit_publish_work);
	INIT_DELAYED_WORK(&queue->watchdog, sidra_submit_watchdog);
	queue->fence_context = dma_fence_context_alloc(1);
}

void sidra_submit_fini(struct sidra_queue *queue)
{
	/*
	 * This takes the lock: earlier submits have finished afterwards, and later ones see that
	 * the queue is destroyed.
	 */
	sidra_submit_fail(queue, -EIO);
	if (cancel_work_sync(&queue->publish_work))
		sidra_queue_put(queue);
	if (cancel_delayed_work(&queue->watchdog))
		sidra_queue_put(queue);	/* if it is running, it drops the reference itself */
}

/* ---- SUBMIT ---- */

/*
 * Everything that is needed to export a fence, allocated before the job is submitted, which cannot
 * be undone.
 */
struct sidra_out {
	struct drm_syncobj *syncobj[POINTS_MAX];
	struct dma_fence_chain *chain[POINTS_MAX];
	u64 point[POINTS_MAX];
	u32 count;
	int fd;
};

static int sidra_submit_read_point(struct drm_file *file, const struct sidra_ioctl_submit *args,
				   const char *name, u64 array, u32 i,
				   struct sidra_syncobj_point *point)
{
	int ret = sidra_args_read(point, sizeof(*point), array + (u64)i * args->point_stride,
				  args->point_stride);

	if (ret == -EFAULT)
		return sidra_refusal_note(file, name, array, ret);
	if (ret)	/* its end, which the driver does not know, is not zero */
		return sidra_refuse(file, args->point_stride, ret);
	if (point->pad)
		return sidra_refusal_note_element(file, name, i, "pad", point->pad, -EINVAL);
	return 0;
}

/*
 * Takes over the reference. Until sidra_submit_wait_for_deps() adds the callback, removing it does
 * nothing.
 */
static void sidra_submit_add_dep(struct sidra_job *job, struct dma_fence *fence)
{
	struct sidra_dep *dep = &job->deps[job->dep_count++];

	INIT_LIST_HEAD(&dep->cb.node);
	dep->fence = fence;
	dep->job = job;
}

static int sidra_submit_collect_deps(struct drm_file *file, const struct sidra_ioctl_submit *args,
				     struct sidra_job *job)
{
	struct sidra_syncobj_point point;
	struct dma_fence *fence;
	u32 i;
	int ret;

	for (i = 0; i < args->in_count; i++) {
		ret = sidra_submit_read_point(file, args, "in_points", args->in_points, i, &point);
		if (ret)
			return ret;
		ret = drm_syncobj_find_fence(file, point.handle, point.point, 0, &fence);
		if (ret == -ENOENT)
			return sidra_refusal_note_element(file, "in_points", i, "handle",
							  point.handle, ret);
		if (ret)	/* it has no fence, or none for this point */
			return sidra_refusal_note_element(file, "in_points", i, "point",
							  point.point, ret);
		sidra_submit_add_dep(job, fence);
	}
	if (args->in_fence_fd == -1)
		return 0;
	fence = sync_file_get_fence(args->in_fence_fd);
	if (!fence)
		return sidra_refuse(file, args->in_fence_fd, -EINVAL);
	sidra_submit_add_dep(job, fence);
	return 0;
}

/* Frees a job whose fence was not initialised, and that has no callbacks on its in-fences. */
static void sidra_submit_discard_job(struct sidra_job *job)
{
	sidra_submit_put_deps(job);
	kfree(job);
}

static struct sidra_job *sidra_submit_alloc_job(struct drm_file *file,
						const struct sidra_ioctl_submit *args,
						struct sidra_queue *queue)
{
	u32 deps = args->in_count + (args->in_fence_fd != -1);
	struct sidra_job *job = kzalloc(struct_size(job, deps, deps), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!job)
		return ERR_PTR(-ENOMEM);
	sidra_count(queue->sdev, submit_allocations);
	spin_lock_init(&job->lock);
	job->waiter.fire = sidra_submit_job_fire;
	job->waiter.sleeper = true;
	job->limit_ns = args->limit_ns ?: (u64)job_timeout_ms * NSEC_PER_MSEC;
	job->limit_ns = min_t(u64, job->limit_ns, (u64)job_timeout_ms * NSEC_PER_MSEC);
	atomic_set(&job->waiting, 1);
	ret = sidra_submit_collect_deps(file, args, job);
	if (!ret)
		return job;
	sidra_submit_discard_job(job);
	return ERR_PTR(ret);
}

static void sidra_submit_free_out(struct sidra_out *out)
{
	u32 i;

	for (i = 0; i < out->count; i++) {
		dma_fence_chain_free(out->chain[i]);
		drm_syncobj_put(out->syncobj[i]);
	}
	if (out->fd >= 0)
		put_unused_fd(out->fd);
	kfree(out);
}

static struct sidra_out *sidra_submit_alloc_out(struct drm_file *file,
						const struct sidra_ioctl_submit *args)
{
	struct sidra_out *out = kzalloc(sizeof(*out), GFP_KERNEL_ACCOUNT);
	struct sidra_syncobj_point point;
	int ret = 0;
	u32 i;

	if (!out)
		return ERR_PTR(-ENOMEM);
	out->fd = -1;
	for (i = 0; i < args->out_count && !ret; i++) {
		ret = sidra_submit_read_point(file, args, "out_points", args->out_points, i,
					      &point);
		if (ret)
			break;
		out->syncobj[i] = drm_syncobj_find(file, point.handle);
		if (!out->syncobj[i]) {
			ret = sidra_refusal_note_element(file, "out_points", i, "handle",
							 point.handle, -ENOENT);
			break;
		}
		out->count++;
		out->point[i] = point.point;
		if (!point.point)
			continue;
		out->chain[i] = dma_fence_chain_alloc();
		if (!out->chain[i])
			ret = -ENOMEM;
	}
	if (!ret && (args->flags & SIDRA_SUBMIT_OUT_FENCE)) {
		out->fd = get_unused_fd_flags(O_CLOEXEC);
		ret = out->fd < 0 ? out->fd : 0;
	}
	if (!ret)
		return out;
	sidra_submit_free_out(out);
	return ERR_PTR(ret);
}

static void sidra_submit_export_fence(struct sidra_out *out, struct dma_fence *fence,
				      struct sync_file *sync, s32 *fd)
{
	u32 i;

	for (i = 0; i < out->count; i++) {
		if (out->point[i])
			drm_syncobj_add_point(out->syncobj[i], out->chain[i], fence, out->point[i]);
		else
			drm_syncobj_replace_fence(out->syncobj[i], fence);
		out->chain[i] = NULL;
	}
	if (sync) {
		fd_install(out->fd, sync->file);
		*fd = out->fd;
		out->fd = -1;
	}
}

/* Initialises the fence, which keeps the module. From here on its last reference frees the job. */
static struct sync_file *sidra_submit_start_fence(struct sidra_queue *queue, struct sidra_job *job,
						  bool file)
{
	lockdep_assert_held(&queue->fence_lock);
	__module_get(THIS_MODULE);	/* the open file has a reference already */
	job->queue = sidra_queue_get(queue);
	dma_fence_init(&job->fence, &fence_ops, &job->lock, queue->fence_context,
		       ++queue->fence_seqno);
	return file ? sync_file_create(&job->fence) : NULL;
}

static int sidra_submit_put(struct drm_file *file, struct sidra_ioctl_submit *args,
			    struct sidra_queue *queue, const union sidra_cmd *packets,
			    struct sidra_job *job)
{
	int ret = sidra_submit_packets(queue, packets, args->count, job, NULL, NULL, &args->value,
				       &args->epoch);

	return ret == -EINVAL ? sidra_refuse(file, args->count, ret) : ret;
}

static int sidra_submit_job(struct drm_file *file, struct sidra_ioctl_submit *args,
			    struct sidra_queue *queue, const union sidra_cmd *packets,
			    struct sidra_job *job, struct sidra_out *out)
{
	bool wanted = args->flags & SIDRA_SUBMIT_OUT_FENCE;
	struct sync_file *sync;
	int ret;

	/* Its holder may wait for memory */
	ret = mutex_lock_killable(&queue->fence_lock);
	if (ret) {
		sidra_submit_discard_job(job);
		return ret;
	}
	sync = sidra_submit_start_fence(queue, job, wanted);
	ret = wanted && !sync ? -ENOMEM : 0;
	if (!ret) {
		sidra_submit_wait_for_deps(job);
		ret = sidra_submit_put(file, args, queue, packets, job);
	}
	mutex_unlock(&queue->fence_lock);
	if (!ret) {
		sidra_submit_export_fence(out, &job->fence, sync, &args->out_fence_fd);
	} else {
		sidra_submit_forget_deps(job);
		sidra_submit_signal_job(job, -ECANCELED);
		if (sync)
			fput(sync->file);
	}
	dma_fence_put(&job->fence);
	return ret;
}

static int sidra_submit_with_fences(struct drm_file *file, struct sidra_ioctl_submit *args,
				    struct sidra_queue *queue, const union sidra_cmd *packets)
{
	struct sidra_out *out;
	struct sidra_job *job;
	int ret;

	job = sidra_submit_alloc_job(file, args, queue);
	if (IS_ERR(job))
		return PTR_ERR(job);
	out = sidra_submit_alloc_out(file, args);
	if (IS_ERR(out)) {
		sidra_submit_discard_job(job);
		return PTR_ERR(out);
	}
	ret = sidra_submit_job(file, args, queue, packets, job, out);
	sidra_submit_free_out(out);
	return ret;
}

static int sidra_submit_check_args(struct drm_file *file, const struct sidra_ioctl_submit *args)
{
	int ret;

	ret = sidra_check_bits(file, args->flags, SIDRA_SUBMIT_OUT_FENCE) ?:
		sidra_check_zero(file, args->pad) ?:
		sidra_check_zero(file, args->reserved[0]) ?:
		sidra_check_zero(file, args->reserved[1]) ?:
		sidra_check_arg(file, args->count, args->count && args->count <= SUBMIT_MAX) ?:
		sidra_check_arg(file, args->packet_stride,
				args->packet_stride == SIDRA_CMD_SIZE) ?:
		sidra_check_arg(file, args->in_count, args->in_count <= POINTS_MAX) ?:
		sidra_check_arg(file, args->out_count, args->out_count <= POINTS_MAX) ?:
		sidra_check_arg(file, args->in_points, !args->in_points || args->in_count) ?:
		sidra_check_arg(file, args->out_points, !args->out_points || args->out_count);
	if (ret || (!args->in_count && !args->out_count && !args->point_stride))
		return ret;
	return sidra_check_stride(file, args->point_stride, POINT_FIRST_SIZE);
}

static int sidra_submit_submit(struct drm_file *file, struct sidra_ioctl_submit *args,
			       struct sidra_queue *queue)
{
	bool fences = args->in_count || args->out_count || args->in_fence_fd != -1 || args->flags;
	union sidra_cmd few[SUBMIT_STACK], *packets = few;
	union sidra_cmd *many __free(kvfree) = NULL;
	size_t bytes = (size_t)args->count * sizeof(*packets);
	u32 forbidden;

	if (args->count > SUBMIT_STACK) {
		many = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
		if (!many)
			return -ENOMEM;
		sidra_count(queue->sdev, submit_allocations);
		packets = many;
	}
	if (copy_from_user(packets, u64_to_user_ptr(args->packets), bytes))
		return sidra_refuse(file, args->packets, -EFAULT);
	forbidden = sidra_submit_forbidden(packets, args->count);
	if (forbidden < args->count)
		return sidra_refusal_note_element(file, "packets", forbidden, "hdr.opcode",
						  packets[forbidden].hdr.opcode, -EINVAL);
	if (fences)
		return sidra_submit_with_fences(file, args, queue, packets);
	return sidra_submit_put(file, args, queue, packets, NULL);
}

int sidra_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_submit *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue __free(sidra_queue) = NULL;
	s32 out_fence_fd = args->out_fence_fd;
	int ret;

	args->value = 0;
	args->epoch = 0;
	args->out_fence_fd = -1;
	ret = sidra_submit_check_args(file, args);
	if (ret)
		return ret;
	if (out_fence_fd != -1)
		return sidra_refusal_note(file, "out_fence_fd", out_fence_fd, -EINVAL);
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	if (READ_ONCE(ctx->lost))
		return -ESTALE;
	queue = sidra_queue_find(ctx, args->queue);
	if (!queue)
		return sidra_refuse(file, args->queue, -ENOENT);
	if (queue->kind != SIDRA_QUEUE_KERNEL)
		return sidra_refuse(file, args->queue, -EINVAL);
	return sidra_submit_submit(file, args, queue);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_submit_kunit.c"
#endif
