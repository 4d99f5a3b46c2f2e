// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of kernel queues, without a chip that reads the ring; included by sidra_submit.c. */
#include <linux/anon_inodes.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "sidra_fake.h"

#define LOG2	3
#define PLACES	BIT(LOG2)

struct bench {
	struct sidra_fake *fake;
	struct sidra_device *sdev;
	struct sidra_queue *queue;
};

static void submit_end_queue(void *data)
{
	struct sidra_queue *queue = data;

	queue->destroyed = true;
	sidra_timeline_detach(queue->sdev, &queue->timeline);
	sidra_submit_fini(queue);
	sidra_queue_put(queue);
	rcu_barrier();	/* for the callbacks that free jobs */
}

static struct bench *submit_start(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	struct sidra_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, bench && queue);
	bench->fake = fake_device(test);
	bench->sdev = &bench->fake->sdev;
	bench->queue = queue;
	kref_init(&queue->ref);
	queue->sdev = bench->sdev;
	queue->slot = 1;
	queue->number = 2;
	queue->kind = SIDRA_QUEUE_KERNEL;
	queue->ring_log2 = LOG2;
	queue->ring = kunit_kcalloc(test, PLACES, sizeof(*queue->ring), GFP_KERNEL);
	queue->index = kunit_kzalloc(test, sizeof(*queue->index), GFP_KERNEL);
	queue->timeline.state = kunit_kzalloc(test, sizeof(*queue->timeline.state), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, queue->ring && queue->index && queue->timeline.state);
	fake_timeline_init(bench->sdev, &queue->timeline, queue->slot, queue->number);
	sidra_epochs_init(&queue->timeline.epochs, 1);
	sidra_submit_init(queue);
	sidra_timeline_attach(bench->sdev, &queue->timeline);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, submit_end_queue, queue), 0);
	return bench;
}

static u64 submit_index_of(const struct bench *bench)
{
	return le64_to_cpu(*bench->queue->index);
}

static int submit_put(struct bench *bench, u32 count, u32 cookie, struct sidra_job *job)
{
	union sidra_cmd packets[2 * PLACES] = {};
	u32 i, epoch;
	u64 value;

	for (i = 0; i < count; i++) {
		packets[i].hdr.opcode = SIDRA_CMD_COPY;
		packets[i].hdr.cookie = cpu_to_le32(cookie + i);
	}
	return sidra_submit_packets(bench->queue, packets, count, job, NULL, NULL, &value, &epoch);
}

/* Sets the timeline, as if the chip had retired the packets before it. */
static void submit_reach(struct bench *bench, u64 timeline)
{
	bench->queue->timeline.state->timeline = cpu_to_le64(timeline);
	sidra_timeline_loaded(bench->sdev, &bench->queue->timeline);
	flush_workqueue(bench->sdev->fence_wq);
}

static const struct dma_fence_ops foreign_ops = {
	.get_driver_name = sidra_submit_fence_driver_name,
	.get_timeline_name = sidra_submit_fence_timeline_name,
};

/*
 * A fence of another driver. It contains its lock, because jobs in the queue keep references to it.
 */
struct foreign_fence {
	struct dma_fence base;
	spinlock_t lock;	/* that of @base */
};

static struct dma_fence *submit_foreign_fence(struct kunit *test)
{
	struct foreign_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	/* Dma_fence_free() frees all of it */
	BUILD_BUG_ON(offsetof(struct foreign_fence, base) != 0);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &foreign_ops, &fence->lock, dma_fence_context_alloc(1), 1);
	return &fence->base;
}

/* Not inlined, as fake_device(). */
static noinline struct sidra_job *submit_new_job(struct kunit *test)
{
	struct sidra_job *job = kzalloc(struct_size(job, deps, 1), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, job);
	spin_lock_init(&job->lock);
	job->waiter.fire = sidra_submit_job_fire;
	job->waiter.sleeper = true;
	job->limit_ns = NSEC_PER_SEC;
	atomic_set(&job->waiting, 1);
	return job;
}

/* Takes over the reference to @dep, and returns the job with a reference to its fence. */
static struct sidra_job *submit_after(struct kunit *test, struct bench *bench,
				      struct dma_fence *dep, u32 count, u32 cookie)
{
	struct sidra_job *job = submit_new_job(test);

	if (dep)
		sidra_submit_add_dep(job, dep);
	scoped_guard(mutex, &bench->queue->fence_lock) {
		sidra_submit_start_fence(bench->queue, job, false);
		sidra_submit_wait_for_deps(job);
		KUNIT_ASSERT_EQ(test, submit_put(bench, count, cookie, job), 0);
	}
	return job;
}

static void submit_wraps(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	u64 at;

	KUNIT_EXPECT_EQ(test, submit_put(bench, 5, 100, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 5);
	KUNIT_EXPECT_EQ(test, readl(bench->sdev->chip.regs + SIDRA_DOORBELL(1, 2)), 1);
	submit_reach(bench, 5);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 6, 105, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 11);
	for (at = 3; at < 11; at++)
		KUNIT_EXPECT_EQ(test, le32_to_cpu(bench->queue->ring[at % PLACES].hdr.cookie),
				100 + at);
}

static void submit_is_full_exactly(struct kunit *test)
{
	struct bench *bench = submit_start(test);

	KUNIT_EXPECT_EQ(test, submit_put(bench, PLACES + 1, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, submit_put(bench, PLACES, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 99, NULL), -EBUSY);
	submit_reach(bench, 3);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 4, 99, NULL), -EBUSY);
	KUNIT_EXPECT_EQ_MSG(test, submit_index_of(bench), PLACES, "all or nothing");
	KUNIT_EXPECT_EQ(test, le32_to_cpu(bench->queue->ring[0].hdr.cookie), 0);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 3, 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), PLACES + 3);
	bench->queue->timeline.state->run_state = cpu_to_le32(SIDRA_QUEUE_FAULTED);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), -EIO);
	bench->queue->destroyed = true;
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), -ENOENT);
}

static void submit_stops_at_a_job_that_is_not_ready(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct dma_fence *dep = submit_foreign_fence(test);
	struct sidra_job *job;

	KUNIT_EXPECT_EQ(test, submit_put(bench, 2, 0, NULL), 0);
	job = submit_after(test, bench, dma_fence_get(dep), 3, 2);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 5, NULL), 0);
	KUNIT_EXPECT_EQ_MSG(test, submit_index_of(bench), 2,
			    "neither the job nor the packets behind it are published");
	submit_reach(bench, 2);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 2);
	dma_fence_signal(dep);
	flush_workqueue(bench->sdev->fence_wq);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 6);
	KUNIT_EXPECT_EQ(test, bench->queue->ring[4].hdr.opcode, SIDRA_CMD_COPY);
	submit_reach(bench, 4);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 0);
	submit_reach(bench, 5);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&bench->queue->jobs));
	KUNIT_EXPECT_TRUE(test, list_empty(&bench->queue->running));
	dma_fence_put(&job->fence);
	dma_fence_put(dep);
}

/* io_uring drops its references to files before it unplugs the task. */
static void submit_of_a_batch_keeps_its_file(struct kunit *test)
{
	static const struct file_operations no_operations;
	struct bench *bench = submit_start(test);
	struct file *file = anon_inode_getfile("sidra-test", &no_operations, NULL, 0);
	union sidra_cmd packet = { .hdr.opcode = SIDRA_CMD_COPY };
	struct blk_plug plug;
	u32 epoch, i;
	u64 value;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	blk_start_plug(&plug);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test,
				sidra_submit_packets(bench->queue, &packet, 1, NULL, NULL, file,
						     &value, &epoch),
				0);
	KUNIT_EXPECT_EQ(test, file_count(file), 2);
	KUNIT_EXPECT_EQ_MSG(test, submit_index_of(bench), 0,
			    "the doorbell is rung once, at the end");
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, file_count(file), 1);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 3);
	fput(file);
}

static void submit_after_a_failure_is_one(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct dma_fence *dep = submit_foreign_fence(test);
	struct sidra_job *job = submit_after(test, bench, dma_fence_get(dep), 2, 0), *good;

	good = submit_after(test, bench, NULL, 1, 2);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 0);
	dma_fence_set_error(dep, -EREMOTEIO);
	dma_fence_signal(dep);
	flush_workqueue(bench->sdev->fence_wq);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 3);
	KUNIT_EXPECT_EQ_MSG(test, bench->queue->ring[0].hdr.opcode, SIDRA_CMD_INVALID,
			    "the queue stops at the job");
	bench->queue->timeline.state->run_state = cpu_to_le32(SIDRA_QUEUE_FAULTED);
	submit_reach(bench, 0);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), -EREMOTEIO);
	KUNIT_EXPECT_EQ_MSG(test, dma_fence_get_status(&good->fence), -EIO,
			    "a job behind it does not run");
	dma_fence_put(&job->fence);
	dma_fence_put(&good->fence);
	dma_fence_put(dep);
}

/* Who is woken by the end of an epoch, and waits for a point of the next one at once. */
struct next_epoch {
	struct sidra_waiter waiter;
	struct sidra_queue *queue;
	u32 epoch;
	int result;
	bool locked;	/* while it was woken, nobody could submit */
};

static void submit_look_at_next_epoch(struct sidra_waiter *waiter)
{
	struct next_epoch *next = container_of(waiter, struct next_epoch, waiter);

	if (sidra_epochs_current(&next->queue->timeline.epochs) == next->epoch)
		next->result = sidra_timeline_check(&next->queue->timeline, next->epoch, PLACES);
	next->locked = true;
	if (spin_trylock(&next->queue->submit_lock)) {
		next->locked = false;
		spin_unlock(&next->queue->submit_lock);
	}
}

static void submit_after_a_reset_can_retire(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_timeline *timeline = &bench->queue->timeline;
	struct next_epoch next = {
		.waiter = { .fire = submit_look_at_next_epoch, .epoch = 1, .value = 5 },
		.queue = bench->queue,
		.epoch = 2,
	};
	u64 retired;

	sidra_waiter_add(bench->sdev, timeline, &next.waiter);
	timeline->state->run_state = cpu_to_le32(SIDRA_QUEUE_FAULTED);
	sidra_submit_reset(bench->queue, 2, &retired);
	KUNIT_EXPECT_EQ_MSG(test, next.result, -EINPROGRESS,
			    "the queue stopped in the former epoch");
	KUNIT_EXPECT_FALSE_MSG(test, next.locked, "there may be 65,536 waiters");
}

/* Who submits while a reset wakes waiters of the former epoch is not one of them. */
static void submit_beside_the_wakeups_of_a_reset_runs(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_queue *queue = bench->queue;
	struct sidra_job *dropped = submit_after(test, bench, NULL, 1, 0), *job;
	u64 start = queue->reserved;

	flush_workqueue(bench->sdev->fence_wq);
	scoped_guard(spinlock, &queue->submit_lock)
		sidra_queue_begin_epoch(queue, 2, 0, start);
	job = submit_after(test, bench, NULL, 1, 0);
	sidra_queue_continue(queue, start);
	flush_workqueue(bench->sdev->fence_wq);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&dropped->fence), -ECANCELED);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 0);
	submit_reach(bench, start + 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 1);
	dma_fence_put(&dropped->fence);
	dma_fence_put(&job->fence);
}

/* Who learns of the end of the former epoch, and submits again, finds an empty ring. */
static void submit_beside_the_wakeups_of_a_reset_has_room(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_queue *queue = bench->queue;
	struct sidra_job *job;

	KUNIT_EXPECT_EQ(test, submit_put(bench, PLACES, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), -EBUSY);
	scoped_guard(spinlock, &queue->submit_lock)
		sidra_queue_begin_epoch(queue, 2, 3, PLACES);
	KUNIT_ASSERT_EQ(test, submit_put(bench, 1, 100, NULL), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(queue->ring[0].hdr.cookie), 100);
	job = submit_after(test, bench, NULL, 1, 0);
	KUNIT_EXPECT_EQ(test, submit_put(bench, PLACES - 1, 0, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, submit_put(bench, PLACES - 2, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), -EBUSY);
	sidra_queue_continue(queue, PLACES);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 0);
	submit_reach(bench, PLACES + 2);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 1);
	KUNIT_EXPECT_EQ(test, submit_put(bench, 1, 0, NULL), 0);
	queue->timeline.state->timeline = cpu_to_le64(1ull << 40);
	KUNIT_EXPECT_EQ_MSG(test, submit_put(bench, 1, 0, NULL), -EBUSY, "the chip lies");
	dma_fence_put(&job->fence);
}

/*
 * As submit_after(), but stands still where SUBMIT has released the lock and not yet added the
 * waiter, which the caller adds.
 */
static struct sidra_job *submit_without_waiter(struct kunit *test, struct bench *bench)
{
	struct sidra_job *job = submit_new_job(test);
	const union sidra_cmd packet = {};
	u64 value;
	u32 epoch;
	int ret;

	scoped_guard(mutex, &bench->queue->fence_lock) {
		sidra_submit_start_fence(bench->queue, job, false);
		sidra_submit_wait_for_deps(job);
		scoped_guard(spinlock, &bench->queue->submit_lock)
			ret = sidra_submit_put_packets(bench->queue, &packet, 1, job, NULL, false,
						       &value, &epoch);
	}
	KUNIT_ASSERT_EQ(test, ret, 0);
	return job;
}

/* The fence of a job agrees with WAIT, also if the queue ends before anybody was woken. */
static void submit_that_retired_is_no_failure(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_job *retired = submit_without_waiter(test, bench),
			 *dropped = submit_without_waiter(test, bench), *late;
	struct sidra_timeline *timeline = &bench->queue->timeline;
	u64 end;

	timeline->state->timeline = cpu_to_le64(retired->value);
	sidra_submit_reset(bench->queue, 2, &end);
	KUNIT_EXPECT_EQ(test, end, retired->value);
	KUNIT_EXPECT_EQ(test, sidra_timeline_check(timeline, 1, retired->value), 0);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&retired->fence), 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&dropped->fence), -ECANCELED);

	late = submit_without_waiter(test, bench);
	timeline->state->timeline = cpu_to_le64(late->value);
	timeline->state->run_state = cpu_to_le32(SIDRA_QUEUE_FAULTED);
	sidra_submit_fail(bench->queue, -EIO);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&late->fence), 1);

	sidra_waiter_add(bench->sdev, timeline, &retired->waiter);
	sidra_waiter_add(bench->sdev, timeline, &dropped->waiter);
	sidra_waiter_add(bench->sdev, timeline, &late->waiter);
	flush_workqueue(bench->sdev->fence_wq);
	KUNIT_EXPECT_EQ(test, kref_read(&retired->fence.refcount), 1);
	dma_fence_put(&retired->fence);
	dma_fence_put(&dropped->fence);
	dma_fence_put(&late->fence);
}

static void submit_look_at_deadline(struct bench *bench)
{
	sidra_queue_get(bench->queue);	/* the work drops this reference */
	sidra_submit_watchdog(&bench->queue->watchdog.work);
}

/* The holder of a lock may wait for memory, and reclaim for the fence. */
static void submit_deadline_needs_no_lock(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_job *job = submit_after(test, bench, NULL, 1, 0);
	void __iomem *regs = bench->sdev->chip.regs;

	guard(rwsem_write)(&bench->sdev->reset_lock);
	submit_look_at_deadline(bench);
	KUNIT_EXPECT_FALSE(test, sidra_submit_late(bench->queue));
	writeq(2 * NSEC_PER_SEC, regs + SIDRA_REG_CLOCK);
	submit_look_at_deadline(bench);
	KUNIT_EXPECT_TRUE_MSG(test, sidra_submit_late(bench->queue),
			      "the device's watchdog will stop the queue");
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), 0);
	KUNIT_EXPECT_TRUE(test, bench->fake->command & PCI_COMMAND_MASTER);
	scoped_guard(spinlock, &bench->queue->submit_lock)
		job->late_since -= LAST_RESORT_NS;
	submit_look_at_deadline(bench);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence), -ETIMEDOUT);
	KUNIT_EXPECT_FALSE_MSG(test, bench->fake->command & PCI_COMMAND_MASTER,
			       "no DMA reaches memory any more");
	KUNIT_EXPECT_EQ(test, readl(regs + SIDRA_REG_RESET), SIDRA_RESET_MAGIC);
	KUNIT_EXPECT_TRUE(test, bench->sdev->isolated);
	KUNIT_EXPECT_EQ(test, sidra_recover(bench->sdev), 0);
	KUNIT_EXPECT_FALSE(test, bench->sdev->isolated);
	KUNIT_EXPECT_TRUE_MSG(test, bench->fake->command & PCI_COMMAND_MASTER,
			      "the device works after a reset");
	KUNIT_EXPECT_EQ(test, atomic64_read(&bench->sdev->counters.device_resets), 1);
	dma_fence_put(&job->fence);
}

/* A queue that is being destroyed notifies nobody, so a caller must not wait for it. */
static void submit_with_a_waiter_needs_a_live_queue(struct kunit *test)
{
	struct bench *bench = submit_start(test);
	struct sidra_uring_req *req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	union sidra_cmd packet = {};
	u64 value;
	u32 epoch;

	KUNIT_ASSERT_NOT_NULL(test, req);
	sidra_timeline_detach(bench->sdev, &bench->queue->timeline);
	KUNIT_EXPECT_EQ(test,
			sidra_submit_packets(bench->queue, &packet, 1, NULL, req, NULL, &value,
					     &epoch),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, bench->queue->reserved, 0);
}

/* A fence that signals when a suspend has found the queues empty, and lets the chip quiesce. */
struct late_fence {
	struct work_struct work;
	struct bench *bench;
	struct dma_fence *fence;
};

static void submit_signal_at_quiesce(struct work_struct *work)
{
	struct late_fence *late = container_of(work, struct late_fence, work);
	void __iomem *regs = late->bench->sdev->chip.regs;
	u32 command = 0, i;

	for (i = 0; i < 10000 && (command & 0xff) != SIDRA_ADMIN_QUIESCE_DEVICE; i++) {
		usleep_range(100, 200);
		command = readl(regs + SIDRA_REG_ADMIN_CMD);
	}
	dma_fence_signal(late->fence);
	flush_work(&late->bench->queue->publish_work);
	writel((command & 0xffff0000) | SIDRA_ADMIN_OK, regs + SIDRA_REG_ADMIN_STATUS);
}

static void submit_publishes_nothing_while_the_chip_quiesces(struct kunit *test)
{
	struct late_fence *late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);
	struct sidra_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct bench *bench = submit_start(test);
	struct sidra_job *job;

	KUNIT_ASSERT_TRUE(test, late && ctx);
	ctx->sdev = bench->sdev;
	ctx->slot = bench->queue->slot;
	ctx->queue_table = kunit_kzalloc(test, sizeof(*ctx->queue_table), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->queue_table);
	xa_init(&ctx->queues);
	xa_store(&ctx->queues, 0, bench->queue, GFP_KERNEL);
	bench->sdev->ctxs[ctx->slot] = ctx;
	late->bench = bench;
	late->fence = submit_foreign_fence(test);
	job = submit_after(test, bench, dma_fence_get(late->fence), 3, 0);
	INIT_WORK(&late->work, submit_signal_at_quiesce);
	queue_work(bench->sdev->wq, &late->work);
	scoped_guard(rwsem_write, &bench->sdev->reset_lock)
		sidra_suspend_device(bench->sdev);
	flush_work(&late->work);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(late->fence), 1);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 0);
	KUNIT_EXPECT_FALSE_MSG(test, ctx->lost, "its queues were empty");
	bench->sdev->stopped = false;
	sidra_submit_resume(bench->queue);
	flush_workqueue(bench->sdev->fence_wq);
	KUNIT_EXPECT_EQ(test, submit_index_of(bench), 3);
	bench->sdev->ctxs[ctx->slot] = NULL;
	dma_fence_put(&job->fence);
	dma_fence_put(late->fence);
}

/* Another SUBMIT, which has the lock until the test has its result, or has waited for too long. */
struct long_submit {
	struct work_struct work;
	struct sidra_queue *queue;
	struct completion began, end;
};

static void submit_hold_fence_lock(struct work_struct *work)
{
	struct long_submit *other = container_of(work, struct long_submit, work);

	guard(mutex)(&other->queue->fence_lock);
	complete(&other->began);
	wait_for_completion_timeout(&other->end, 20 * HZ);
}

static void submit_that_waits_for_another_can_be_killed(struct kunit *test)
{
	struct long_submit *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct sidra_out *out = kunit_kzalloc(test, sizeof(*out), GFP_KERNEL);
	struct sidra_ioctl_submit args = {};
	struct bench *bench = submit_start(test);

	KUNIT_ASSERT_TRUE(test, other && out);
	other->queue = bench->queue;
	init_completion(&other->began);
	init_completion(&other->end);
	INIT_WORK(&other->work, submit_hold_fence_lock);
	queue_work(bench->sdev->wq, &other->work);
	wait_for_completion(&other->began);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	KUNIT_EXPECT_EQ(test,
			sidra_submit_job(NULL, &args, bench->queue, NULL, submit_new_job(test),
					 out),
			-EINTR);
	flush_signals(current);
	disallow_signal(SIGKILL);
	complete(&other->end);
	flush_work(&other->work);
}

static struct kunit_case submit_cases[] = {
	KUNIT_CASE(submit_wraps),
	KUNIT_CASE(submit_is_full_exactly),
	KUNIT_CASE(submit_stops_at_a_job_that_is_not_ready),
	KUNIT_CASE(submit_of_a_batch_keeps_its_file),
	KUNIT_CASE(submit_after_a_failure_is_one),
	KUNIT_CASE(submit_after_a_reset_can_retire),
	KUNIT_CASE(submit_beside_the_wakeups_of_a_reset_runs),
	KUNIT_CASE(submit_beside_the_wakeups_of_a_reset_has_room),
	KUNIT_CASE(submit_that_retired_is_no_failure),
	KUNIT_CASE(submit_deadline_needs_no_lock),
	KUNIT_CASE(submit_with_a_waiter_needs_a_live_queue),
	KUNIT_CASE(submit_publishes_nothing_while_the_chip_quiesces),
	KUNIT_CASE(submit_that_waits_for_another_can_be_killed),
	{}
};

static struct kunit_suite submit_suite = {
	.name = "sidra_submit",
	.test_cases = submit_cases,
};

kunit_test_suite(submit_suite);
