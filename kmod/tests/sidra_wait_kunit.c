// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of WAIT, without a chip; included by sidra_wait.c. */
#include "sidra_fake.h"

#define PATIENCE_MS	20000

/* A reset that lasts until the test has what it waited for, or has waited for too long. */
struct long_reset {
	struct work_struct work;
	struct sidra_device *sdev;
	struct completion began, end;
};

static void wait_hold_reset_lock(struct work_struct *work)
{
	struct long_reset *reset = container_of(work, struct long_reset, work);

	guard(rwsem_write)(&reset->sdev->reset_lock);
	complete(&reset->began);
	wait_for_completion_timeout(&reset->end, msecs_to_jiffies(PATIENCE_MS));
}

static struct sidra_queue *wait_add_idle_queue(struct kunit *test, struct sidra_device *sdev)
{
	struct sidra_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, queue);
	queue->sdev = sdev;
	queue->timeline.state = kunit_kzalloc(test, sizeof(*queue->timeline.state), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue->timeline.state);
	fake_timeline_init(sdev, &queue->timeline, 0, 0);
	sidra_epochs_init(&queue->timeline.epochs, 1);
	sidra_timeline_attach(sdev, &queue->timeline);
	return queue;
}

static void wait_ends_in_a_reset(struct kunit *test)
{
	struct long_reset *reset = kunit_kzalloc(test, sizeof(*reset), GFP_KERNEL);
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_queue *queue = wait_add_idle_queue(test, sdev);
	struct item item = { .queue = queue, .value = 1, .epoch = 1 };
	struct sidra_ioctl_wait args = { .count = 1 };

	KUNIT_ASSERT_NOT_NULL(test, reset);
	reset->sdev = sdev;
	init_completion(&reset->began);
	init_completion(&reset->end);
	INIT_WORK(&reset->work, wait_hold_reset_lock);
	queue_work(sdev->wq, &reset->work);
	wait_for_completion(&reset->began);
	args.deadline = ktime_get_ns() + 3 * RECHECK_NS;
	KUNIT_EXPECT_EQ(test, sidra_wait_wait(sdev, &item, &args), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE_MSG(test, rwsem_is_locked(&sdev->reset_lock),
			      "it waited for the end of the reset");
	complete(&reset->end);
	flush_work(&reset->work);
	sidra_timeline_detach(sdev, &queue->timeline);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_ends_in_a_reset),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "sidra_wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
