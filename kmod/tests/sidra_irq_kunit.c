// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of waiters and interrupts, on registers in plain memory; included by sidra_irq.c. */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "sidra_fake.h"

#define SHOTS_MAX	64
#define SLOTS		64
/* The epoch that runs; waiters for another one are woken immediately */
#define EPOCH		1

struct shots {
	struct sidra_fake *fake;
	struct sidra_device *sdev;
	struct sidra_point point;
	unsigned int count;
	u64 values[SHOTS_MAX];
};

struct shot {
	struct sidra_arm arm;
	struct shots *shots;
};

static void shoot(struct sidra_arm *arm)
{
	struct shots *shots = container_of(arm, struct shot, arm)->shots;

	if (shots->count < SHOTS_MAX)
		shots->values[shots->count++] = arm->value;
}

static void init_point(struct kunit *test, struct sidra_device *sdev, struct sidra_point *point,
		       u32 queue)
{
	fake_point_init(sdev, point, 0, queue);
	point->pending_slots = kunit_kcalloc(test, SLOTS, sizeof(*point->pending_slots),
					     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, point->pending_slots);
	point->pending_mask = SLOTS - 1;
	sidra_epochs_init(&point->epochs, EPOCH);
	point->state = kunit_kzalloc(test, sizeof(*point->state), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, point->state);
	sidra_point_attach(sdev, point);
}

static void end_timer(void *point)
{
	hrtimer_cancel(&((struct sidra_point *)point)->patience);
}

static struct shots *start(struct kunit *test)
{
	struct shots *shots = kunit_kzalloc(test, sizeof(*shots), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, shots);
	shots->fake = fake_device(test);
	shots->sdev = &shots->fake->sdev;
	init_point(test, shots->sdev, &shots->point, 3);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, end_timer, &shots->point), 0);
	return shots;
}

static struct shot *arm_at(struct kunit *test, struct shots *shots, struct sidra_point *point,
			   u64 value, bool patient)
{
	struct shot *shot = kunit_kzalloc(test, sizeof(*shot), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, shot);
	shot->shots = shots;
	shot->arm = (struct sidra_arm){
		.value = value,
		.epoch = EPOCH,
		.patient = patient,
		.fire = shoot,
	};
	sidra_arm_add(shots->sdev, point, &shot->arm);
	return shot;
}

static void interrupt(struct shots *shots)
{
	sidra_irq_queue_irq(0, &shots->sdev->vectors[1]);
}

static u64 programmed(struct shots *shots, const struct sidra_point *point)
{
	return readq(shots->sdev->chip.regs + SIDRA_ARM(point->slot, point->queue));
}

static void irq_fires_in_order(struct kunit *test)
{
	static const u64 added[] = { 5, 3, 8, 3, 7 }, first[] = { 3, 3 }, all[] = { 3, 3, 5, 7, 8 };
	struct shots *shots = start(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(added); i++)
		arm_at(test, shots, &shots->point, added[i], false);
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 0);
	shots->point.state->timeline = 4;
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, ARRAY_SIZE(first));
	KUNIT_EXPECT_MEMEQ(test, shots->values, first, sizeof(first));
	shots->point.state->timeline = 8;
	interrupt(shots);
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, ARRAY_SIZE(all));
	KUNIT_EXPECT_MEMEQ(test, shots->values, all, sizeof(all));
}

static void irq_fires_at_once_what_is_reached(struct kunit *test)
{
	struct shots *shots = start(test);

	shots->point.state->timeline = 4;
	arm_at(test, shots, &shots->point, 4, false);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	arm_at(test, shots, &shots->point, 5, false);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	sidra_point_detach(shots->sdev, &shots->point);
	KUNIT_EXPECT_EQ(test, shots->count, 2);
	arm_at(test, shots, &shots->point, 6, false);	/* not attached: it must fire immediately */
	KUNIT_EXPECT_EQ(test, shots->count, 3);
}

static void irq_stop_fires_all(struct kunit *test)
{
	static const u32 states[] = { SIDRA_QUEUE_FAULTED, SIDRA_QUEUE_LOST };
	struct shots *shots = start(test);
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		shots->count = 0;
		shots->point.state->run_state = SIDRA_QUEUE_RUNNING;
		for (n = 0; n < 10; n++)
			arm_at(test, shots, &shots->point, 100 + n, n % 2);
		shots->point.state->run_state = states[i];
		interrupt(shots);
		KUNIT_EXPECT_EQ(test, shots->count, 10);
	}
	shots->point.state->run_state = SIDRA_QUEUE_STOPPED;	/* quiesced; it will be resumed */
	arm_at(test, shots, &shots->point, 100, false);
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 10);
	sidra_point_wake(shots->sdev, &shots->point);
	KUNIT_EXPECT_EQ_MSG(test, shots->count, 10, "the point can still be reached");
	sidra_epochs_begin(&shots->point.epochs, EPOCH + 1, 0);
	sidra_point_wake(shots->sdev, &shots->point);
	KUNIT_EXPECT_EQ(test, shots->count, 11);
}

static void irq_programs_what_has_changed(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_device *sdev = shots->sdev;
	const u32 count = 8;
	/* Timers: not on the stack */
	struct sidra_point *others = kunit_kcalloc(test, count, sizeof(*others), GFP_KERNEL);
	struct shot *first;
	u64 writes;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, others);
	for (i = 0; i < count; i++) {
		init_point(test, sdev, &others[i], 10 + i);
		arm_at(test, shots, &others[i], 1, false);
	}
	arm_at(test, shots, &shots->point, 5, false);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 5);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), 9);
	writes = fake_writes(sdev);

	interrupt(shots);	/* of another queue on the same vector */
	sidra_irq_check_all(sdev);
	arm_at(test, shots, &shots->point, 7, false);	/* behind the first one */
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes, "the chip is armed already");
	first = arm_at(test, shots, &shots->point, 2, false);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 2);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), ++writes);
	KUNIT_EXPECT_TRUE(test, sidra_arm_del(sdev, &shots->point, &first->arm));
	interrupt(shots);
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 5);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), ++writes,
			    "once, and not for the deleted waiter");
	shots->point.state->timeline = 5;
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 7);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), ++writes);
	sidra_point_loaded(sdev, &shots->point);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), ++writes, "the chip must be armed again");
	for (i = 0; i < count; i++)
		sidra_point_detach(sdev, &others[i]);
}

static void irq_patience_is_shared_and_ends(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_device *sdev = shots->sdev;
	u64 value, writes;

	for (value = 1; value <= 40; value++)
		arm_at(test, shots, &shots->point, value, true);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 1);
	shots->point.state->timeline = 1;
	interrupt(shots);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 1 + BATCH_MAX);
	sidra_irq_end_patience(&shots->point.patience);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 2);
	writes = fake_writes(sdev);
	interrupt(shots);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes,
			    "the chip stays armed for the same value");
	arm_at(test, shots, &shots->point, 36, false);
	shots->point.state->timeline = 10;
	interrupt(shots);
	KUNIT_EXPECT_EQ_MSG(test, programmed(shots, &shots->point), 36,
			    "a batch ends at a waiter that is not patient");
	KUNIT_EXPECT_EQ(test, shots->count, 10);
}

static void irq_chip_is_armed_for_pending_once(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_pending list[40];
	u64 writes;
	u32 i;

	arm_at(test, shots, &shots->point, 1000, false);
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		list[i].value = i + 1;
		KUNIT_ASSERT_TRUE(test, sidra_pending_add(shots->sdev, &shots->point, &list[i]));
	}
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 1000);
	sidra_pending_arm(shots->sdev, &shots->point);
	KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), BATCH_MAX);
	writes = fake_writes(shots->sdev);
	sidra_pending_arm(shots->sdev, &shots->point);
	KUNIT_EXPECT_EQ(test, fake_writes(shots->sdev), writes);
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		if (i == BATCH_MAX) {
			sidra_pending_arm(shots->sdev, &shots->point);
			KUNIT_EXPECT_EQ(test, programmed(shots, &shots->point), 40);
		}
		KUNIT_EXPECT_TRUE(test, sidra_pending_del(&list[i]));
		KUNIT_EXPECT_FALSE(test, sidra_pending_del(&list[i]));
	}
	KUNIT_EXPECT_EQ(test, shots->sdev->vectors[1].sleepers, 0);
	sidra_point_detach(shots->sdev, &shots->point);
	KUNIT_EXPECT_FALSE(test, sidra_pending_add(shots->sdev, &shots->point, &list[0]));
}

static unsigned int waiting(const struct sidra_point *point)
{
	unsigned int count = 0;
	struct rb_node *node;

	for (node = rb_first_cached(&point->armed); node; node = rb_next(node))
		count++;
	return count;
}

/*
 * An interrupt wakes at most FIRE_MAX waiters. The others that are due do not need another
 * interrupt.
 */
static void irq_wakes_in_batches(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	unsigned int i, found, left;

	for (i = 0; i < 2 * FIRE_MAX + 1; i++)
		arm_at(test, shots, &shots->point, 1 + i % 3, false);
	shots->point.state->timeline = 3;
	scoped_guard(spinlock_irqsave, &vector->lock) {	/* recheck_work cannot run meanwhile */
		found = sidra_irq_check_vector(vector, false);
		left = waiting(&shots->point);
	}
	KUNIT_EXPECT_EQ(test, found, FOUND | LEFT);
	KUNIT_EXPECT_EQ(test, left, FIRE_MAX + 1);
	flush_delayed_work(&vector->recheck_work);
	flush_delayed_work(&vector->recheck_work);
	KUNIT_EXPECT_NULL(test, sidra_irq_first_armed(&shots->point));
	KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&shots->sdev->counters.rechecks), 0,
			    "no interrupt was lost");
}

/* So do all queues of a vector together, and none of them keeps the others waiting. */
static void irq_queues_share_a_batch(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	struct sidra_point *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	unsigned int i, found[2], first[2], second[2];

	KUNIT_ASSERT_NOT_NULL(test, other);
	init_point(test, shots->sdev, other, 10);
	for (i = 0; i < FIRE_MAX + 10; i++) {
		arm_at(test, shots, &shots->point, 1, false);
		arm_at(test, shots, other, 1, false);
	}
	shots->point.state->timeline = 1;
	other->state->timeline = 1;
	scoped_guard(spinlock_irqsave, &vector->lock) {
		for (i = 0; i < 2; i++) {
			found[i] = sidra_irq_check_vector(vector, false);
			first[i] = waiting(&shots->point);
			second[i] = waiting(other);
		}
	}
	KUNIT_EXPECT_EQ(test, found[0], FOUND | LEFT);
	KUNIT_EXPECT_EQ(test, first[0], 10);
	KUNIT_EXPECT_EQ(test, second[0], FIRE_MAX + 10);
	KUNIT_EXPECT_EQ(test, found[1], FOUND | LEFT);
	/* The second check begins behind the queue that used up the first one. */
	KUNIT_EXPECT_EQ(test, second[1], 10);
	KUNIT_EXPECT_EQ(test, first[1], 10);
	flush_delayed_work(&vector->recheck_work);
	KUNIT_EXPECT_NULL(test, sidra_irq_first_armed(&shots->point));
	KUNIT_EXPECT_NULL(test, sidra_irq_first_armed(other));
	KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&shots->sdev->counters.rechecks), 0,
			    "no interrupt was lost");
	sidra_point_detach(shots->sdev, other);
}

static void irq_deletes_without_a_walk(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	struct sidra_pending pending = { .value = 1 };

	KUNIT_ASSERT_TRUE(test, sidra_pending_add(shots->sdev, &shots->point, &pending));
	/* A walk over the queues of the vector would not find it */
	scoped_guard(spinlock_irqsave, &vector->lock)
		list_del_init(&shots->point.link);
	KUNIT_EXPECT_TRUE(test, sidra_pending_del(&pending));
	KUNIT_EXPECT_EQ(test, vector->sleepers, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&shots->point.pending));
	pending.result = -ECANCELED;
	KUNIT_EXPECT_FALSE(test, sidra_pending_del(&pending));
	pending.result = 0;
	KUNIT_EXPECT_FALSE(test, sidra_pending_del(&pending));
}

/* sidra_arm_take() must not remove waiters of another value, another kind or an ended epoch. */
static void irq_takes_by_value(struct kunit *test)
{
	struct shots *shots = start(test);
	struct sidra_point *point = &shots->point;
	struct sidra_pending list[] = { { .value = 3 }, { .value = 8 }, { .value = 9 } };
	struct shot *wanted;
	unsigned int i;

	for (i = 0; i < 10; i++)
		arm_at(test, shots, point, 5 + i % 2, i % 3);
	wanted = arm_at(test, shots, point, 7, false);
	KUNIT_EXPECT_PTR_EQ(test, sidra_arm_take(shots->sdev, point, 7, shoot), &wanted->arm);
	KUNIT_EXPECT_NULL(test, sidra_arm_take(shots->sdev, point, 7, shoot));
	KUNIT_EXPECT_NULL(test, sidra_arm_take(shots->sdev, point, 5, NULL));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_NOT_NULL(test, sidra_arm_take(shots->sdev, point, 5, shoot));
	KUNIT_EXPECT_NULL(test, sidra_arm_take(shots->sdev, point, 5, shoot));
	sidra_epochs_begin(&point->epochs, EPOCH + 1, 0);
	KUNIT_EXPECT_NULL(test, sidra_arm_take(shots->sdev, point, 6, shoot));
	KUNIT_EXPECT_EQ(test, shots->count, 0);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		KUNIT_ASSERT_TRUE(test, sidra_pending_add(shots->sdev, point, &list[i]));
	KUNIT_EXPECT_NULL(test, sidra_pending_take(shots->sdev, point, 4));
	KUNIT_EXPECT_NULL(test, sidra_pending_take(shots->sdev, point, 8 + SLOTS));
	KUNIT_EXPECT_PTR_EQ(test, sidra_pending_take(shots->sdev, point, 8), &list[1]);
	KUNIT_EXPECT_NULL(test, sidra_pending_take(shots->sdev, point, 8));
	KUNIT_EXPECT_TRUE(test, sidra_pending_del(&list[0]));
	KUNIT_EXPECT_TRUE(test, sidra_pending_del(&list[2]));
	KUNIT_EXPECT_TRUE(test, list_empty(&point->pending));
}

struct impatient {
	struct sidra_arm arm;
	struct sidra_point *point;
	bool again;
};

/* Adds patient waiters while the timer's function is running. */
static void arm_while_the_timer_ends(struct sidra_arm *arm)
{
	struct impatient *impatient = container_of(arm, struct impatient, arm);

	sidra_irq_program(impatient->point->vector->sdev, impatient->point, false);
	impatient->again = hrtimer_is_queued(&impatient->point->patience);
}

static void irq_timer_starts_while_it_ends(struct kunit *test)
{
	struct shots *shots = start(test);
	struct impatient impatient = {
		.arm = { .value = 1, .epoch = EPOCH, .fire = arm_while_the_timer_ends },
		.point = &shots->point,
	};
	unsigned int i;
	u64 value;

	for (value = 2; value <= 40; value++)
		arm_at(test, shots, &shots->point, value, true);
	sidra_arm_add(shots->sdev, &shots->point, &impatient.arm);
	shots->point.programmed = 40;	/* as if the chip was armed for a batch */
	shots->point.state->timeline = 1;
	hrtimer_start(&shots->point.patience, 0, HRTIMER_MODE_REL);
	for (i = 0; i < 10000 && READ_ONCE(impatient.arm.armed); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_FALSE(test, sidra_arm_del(shots->sdev, &shots->point, &impatient.arm));
	KUNIT_EXPECT_TRUE(test, impatient.again);
	sidra_point_detach(shots->sdev, &shots->point);
}

struct race {
	struct sidra_arm arm;
	atomic_t fired;
};

static void race_fire(struct sidra_arm *arm)
{
	atomic_inc(&container_of(arm, struct race, arm)->fired);
}

static int race_interrupts(void *data)
{
	struct shots *shots = data;

	while (!kthread_should_stop()) {
		WRITE_ONCE(shots->point.state->timeline,
			   READ_ONCE(shots->point.state->timeline) + 1);
		interrupt(shots);
		cond_resched();
	}
	return 0;
}

/* Either the waiter is fired, or sidra_arm_del() returns true, never both. */
static void irq_fire_and_delete_exclude_each_other(struct kunit *test)
{
	struct shots *shots = start(test);
	struct task_struct *thread = kthread_run(race_interrupts, shots, "sidra-test");
	unsigned int round, deleted = 0, fired = 0, wrong = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (round = 0; round < 2000; round++) {
		struct race race = {
			.arm = {
				.value = READ_ONCE(shots->point.state->timeline) + 1 + round % 2,
				.epoch = EPOCH,
				.fire = race_fire,
			},
		};
		bool ours;

		sidra_arm_add(shots->sdev, &shots->point, &race.arm);
		if (round % 3)
			cpu_relax();
		ours = sidra_arm_del(shots->sdev, &shots->point, &race.arm);
		deleted += ours;
		fired += atomic_read(&race.fired);
		wrong += atomic_read(&race.fired) + ours != 1;
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, deleted + fired, 2000);
}

static struct kunit_case irq_cases[] = {
	KUNIT_CASE(irq_fires_in_order),
	KUNIT_CASE(irq_fires_at_once_what_is_reached),
	KUNIT_CASE(irq_stop_fires_all),
	KUNIT_CASE(irq_programs_what_has_changed),
	KUNIT_CASE(irq_patience_is_shared_and_ends),
	KUNIT_CASE(irq_chip_is_armed_for_pending_once),
	KUNIT_CASE(irq_wakes_in_batches),
	KUNIT_CASE(irq_queues_share_a_batch),
	KUNIT_CASE(irq_deletes_without_a_walk),
	KUNIT_CASE(irq_takes_by_value),
	KUNIT_CASE(irq_timer_starts_while_it_ends),
	KUNIT_CASE(irq_fire_and_delete_exclude_each_other),
	{}
};

static struct kunit_suite irq_suite = {
	.name = "sidra_irq",
	.test_cases = irq_cases,
};

kunit_test_suite(irq_suite);
