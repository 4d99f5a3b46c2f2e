// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the watchdog; included by sidra_watch.c. */
#include <linux/delay.h>

#include "sidra_fake.h"

#define PROGRESS	7

/* A context with a queue whose state says PROGRESS, which the watchdog remembers when it comes. */
static struct sidra_ctx *watch_add_ctx(struct kunit *test, struct sidra_device *sdev, u32 slot)
{
	struct sidra_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct sidra_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, ctx && queue);
	queue->sdev = sdev;
	queue->slot = slot;
	queue->kind = SIDRA_QUEUE_KERNEL;
	queue->index = kunit_kzalloc(test, sizeof(*queue->index), GFP_KERNEL);
	queue->timeline.state = kunit_kzalloc(test, sizeof(*queue->timeline.state), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, queue->index && queue->timeline.state);
	queue->timeline.state->progress = cpu_to_le64(PROGRESS);
	sidra_submit_init(queue);
	kref_init(&ctx->ref);
	mutex_init(&ctx->lock);
	ctx->sdev = sdev;
	ctx->slot = slot;
	xa_init(&ctx->queues);
	xa_store(&ctx->queues, 0, queue, GFP_KERNEL);
	sdev->ctxs[slot] = ctx;
	return ctx;
}

static bool watch_has_run(struct sidra_ctx *ctx)
{
	struct sidra_queue *queue = xa_load(&ctx->queues, 0);

	return READ_ONCE(queue->watch.progress) == PROGRESS;
}

static bool watch_runs_soon(struct sidra_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < 10000 && !watch_has_run(ctx); i++)
		usleep_range(1000, 2000);
	return watch_has_run(ctx);
}

static void watch_of_one_context_waits_for_no_other(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_ctx *busy = watch_add_ctx(test, sdev, 1);
	struct sidra_ctx *other = watch_add_ctx(test, sdev, 2);

	scoped_guard(mutex, &busy->lock) {
		sidra_watch_now(sdev);
		KUNIT_EXPECT_TRUE_MSG(test, watch_runs_soon(other),
				      "it waits for a context that is in a call");
		KUNIT_EXPECT_FALSE(test, watch_has_run(busy));
	}
	KUNIT_EXPECT_TRUE_MSG(test, watch_runs_soon(busy), "the call has ended");
	sidra_watch_stop(sdev);	/* before the contexts are freed */
}

static struct kunit_case watch_cases[] = {
	KUNIT_CASE(watch_of_one_context_waits_for_no_other),
	{}
};

static struct kunit_suite watch_suite = {
	.name = "sidra_watch",
	.test_cases = watch_cases,
};

kunit_test_suite(watch_suite);
