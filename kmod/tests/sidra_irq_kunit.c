// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of waiters and interrupts, on registers in plain memory; included by sidra_irq.c. */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "../sidra_queue.h"
#include "sidra_fake.h"

#define SHOTS_MAX	64
#define SLOTS		64
/* The epoch that runs; waiters for another one are woken immediately */
#define EPOCH		1

struct shots {
	struct sidra_fake *fake;
	struct sidra_device *sdev;
	struct sidra_timeline timeline;
	unsigned int count;
	u64 values[SHOTS_MAX];
};

struct shot {
	struct sidra_waiter waiter;
	struct shots *shots;
};

static void irq_shoot(struct sidra_waiter *waiter)
{
	struct shots *shots = container_of(waiter, struct shot, waiter)->shots;

	if (shots->count < SHOTS_MAX)
		shots->values[shots->count++] = waiter->value;
}

static void irq_init_timeline(struct kunit *test, struct sidra_device *sdev,
			      struct sidra_timeline *timeline, u32 queue)
{
	fake_timeline_init(sdev, timeline, 0, queue);
	timeline->req_slots = kunit_kcalloc(test, SLOTS, sizeof(*timeline->req_slots), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timeline->req_slots);
	timeline->req_mask = SLOTS - 1;
	sidra_epochs_init(&timeline->epochs, EPOCH);
	timeline->state = kunit_kzalloc(test, sizeof(*timeline->state), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timeline->state);
	sidra_timeline_attach(sdev, timeline);
}

static void irq_end_timer(void *timeline)
{
	hrtimer_cancel(&((struct sidra_timeline *)timeline)->patience);
}

static struct shots *irq_start(struct kunit *test)
{
	struct shots *shots = kunit_kzalloc(test, sizeof(*shots), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, shots);
	shots->fake = fake_device(test);
	shots->sdev = &shots->fake->sdev;
	irq_init_timeline(test, shots->sdev, &shots->timeline, 3);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, irq_end_timer, &shots->timeline), 0);
	return shots;
}

static struct shot *irq_arm_at(struct kunit *test, struct shots *shots,
			       struct sidra_timeline *timeline, u64 value, bool patient)
{
	struct shot *shot = kunit_kzalloc(test, sizeof(*shot), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, shot);
	shot->shots = shots;
	shot->waiter = (struct sidra_waiter){
		.value = value,
		.epoch = EPOCH,
		.patient = patient,
		.fire = irq_shoot,
	};
	sidra_waiter_add(shots->sdev, timeline, &shot->waiter);
	return shot;
}

static void irq_interrupt(struct shots *shots)
{
	sidra_irq_queue_irq(0, &shots->sdev->vectors[1]);
}

static u64 irq_programmed(struct shots *shots, const struct sidra_timeline *timeline)
{
	return readq(shots->sdev->chip.regs + SIDRA_ARM(timeline->slot, timeline->queue));
}

static void irq_fires_in_order(struct kunit *test)
{
	static const u64 added[] = { 5, 3, 8, 3, 7 }, first[] = { 3, 3 }, all[] = { 3, 3, 5, 7, 8 };
	struct shots *shots = irq_start(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(added); i++)
		irq_arm_at(test, shots, &shots->timeline, added[i], false);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 0);
	shots->timeline.state->timeline = cpu_to_le64(4);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, ARRAY_SIZE(first));
	KUNIT_EXPECT_MEMEQ(test, shots->values, first, sizeof(first));
	shots->timeline.state->timeline = cpu_to_le64(8);
	irq_interrupt(shots);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, ARRAY_SIZE(all));
	KUNIT_EXPECT_MEMEQ(test, shots->values, all, sizeof(all));
}

static void irq_fires_at_once_what_is_reached(struct kunit *test)
{
	struct shots *shots = irq_start(test);

	shots->timeline.state->timeline = cpu_to_le64(4);
	irq_arm_at(test, shots, &shots->timeline, 4, false);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	irq_arm_at(test, shots, &shots->timeline, 5, false);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	sidra_timeline_detach(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_EQ(test, shots->count, 2);
	/* Not attached: it must fire immediately */
	irq_arm_at(test, shots, &shots->timeline, 6, false);
	KUNIT_EXPECT_EQ(test, shots->count, 3);
}

static void irq_stop_fires_all(struct kunit *test)
{
	static const u32 states[] = { SIDRA_QUEUE_FAULTED, SIDRA_QUEUE_LOST };
	struct shots *shots = irq_start(test);
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		shots->count = 0;
		shots->timeline.state->run_state = cpu_to_le32(SIDRA_QUEUE_RUNNING);
		for (n = 0; n < 10; n++)
			irq_arm_at(test, shots, &shots->timeline, 100 + n, n % 2);
		shots->timeline.state->run_state = cpu_to_le32(states[i]);
		irq_interrupt(shots);
		KUNIT_EXPECT_EQ(test, shots->count, 10);
	}
	/* Quiesced; it will be resumed */
	shots->timeline.state->run_state = cpu_to_le32(SIDRA_QUEUE_STOPPED);
	irq_arm_at(test, shots, &shots->timeline, 100, false);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 10);
	sidra_timeline_wake(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_EQ_MSG(test, shots->count, 10, "the point can still be reached");
	sidra_epochs_begin(&shots->timeline.epochs, EPOCH + 1, 0);
	sidra_timeline_wake(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_EQ(test, shots->count, 11);
}

static void irq_programs_what_has_changed(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_device *sdev = shots->sdev;
	const u32 count = 8;
	/* Timers: not on the stack */
	struct sidra_timeline *others = kunit_kcalloc(test, count, sizeof(*others), GFP_KERNEL);
	struct shot *first;
	u64 writes;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, others);
	for (i = 0; i < count; i++) {
		irq_init_timeline(test, sdev, &others[i], 10 + i);
		irq_arm_at(test, shots, &others[i], 1, false);
	}
	irq_arm_at(test, shots, &shots->timeline, 5, false);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 5);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), 9);
	writes = fake_writes(sdev);

	irq_interrupt(shots);	/* of another queue on the same vector */
	sidra_irq_check_all(sdev);
	irq_arm_at(test, shots, &shots->timeline, 7, false);	/* behind the first one */
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes, "the chip is armed already");
	first = irq_arm_at(test, shots, &shots->timeline, 2, false);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 2);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), ++writes);
	KUNIT_EXPECT_TRUE(test, sidra_waiter_del(sdev, &shots->timeline, &first->waiter));
	irq_interrupt(shots);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 5);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), ++writes,
			    "once, and not for the deleted waiter");
	shots->timeline.state->timeline = cpu_to_le64(5);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, shots->count, 1);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 7);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), ++writes);
	sidra_timeline_loaded(sdev, &shots->timeline);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), ++writes, "the chip must be armed again");
	for (i = 0; i < count; i++)
		sidra_timeline_detach(sdev, &others[i]);
}

static void irq_patience_is_shared_and_ends(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_device *sdev = shots->sdev;
	u64 value, writes;

	for (value = 1; value <= 40; value++)
		irq_arm_at(test, shots, &shots->timeline, value, true);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 1);
	shots->timeline.state->timeline = cpu_to_le64(1);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 1 + BATCH_MAX);
	sidra_irq_end_patience(&shots->timeline.patience);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 2);
	writes = fake_writes(sdev);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes,
			    "the chip stays armed for the same value");
	irq_arm_at(test, shots, &shots->timeline, 36, false);
	shots->timeline.state->timeline = cpu_to_le64(10);
	irq_interrupt(shots);
	KUNIT_EXPECT_EQ_MSG(test, irq_programmed(shots, &shots->timeline), 36,
			    "a batch ends at a waiter that is not patient");
	KUNIT_EXPECT_EQ(test, shots->count, 10);
}

static void irq_chip_is_armed_for_requests_once(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_uring_req list[40];
	u64 writes;
	u32 i;

	irq_arm_at(test, shots, &shots->timeline, 1000, false);
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		list[i].value = i + 1;
		KUNIT_ASSERT_TRUE(test,
				  sidra_uring_req_add(shots->sdev, &shots->timeline, &list[i]));
	}
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 1000);
	sidra_uring_req_arm(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), BATCH_MAX);
	writes = fake_writes(shots->sdev);
	sidra_uring_req_arm(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_EQ(test, fake_writes(shots->sdev), writes);
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		if (i == BATCH_MAX) {
			sidra_uring_req_arm(shots->sdev, &shots->timeline);
			KUNIT_EXPECT_EQ(test, irq_programmed(shots, &shots->timeline), 40);
		}
		KUNIT_EXPECT_TRUE(test, sidra_uring_req_del(&list[i]));
		KUNIT_EXPECT_FALSE(test, sidra_uring_req_del(&list[i]));
	}
	KUNIT_EXPECT_EQ(test, shots->sdev->vectors[1].sleepers, 0);
	sidra_timeline_detach(shots->sdev, &shots->timeline);
	KUNIT_EXPECT_FALSE(test, sidra_uring_req_add(shots->sdev, &shots->timeline, &list[0]));
}

static unsigned int irq_waiting(const struct sidra_timeline *timeline)
{
	unsigned int count = 0;
	struct rb_node *node;

	for (node = rb_first_cached(&timeline->waiters); node; node = rb_next(node))
		count++;
	return count;
}

/*
 * An interrupt wakes at most FIRE_MAX waiters. The others that are due do not need another
 * interrupt.
 */
static void irq_wakes_in_batches(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	unsigned int i, found, left;

	for (i = 0; i < 2 * FIRE_MAX + 1; i++)
		irq_arm_at(test, shots, &shots->timeline, 1 + i % 3, false);
	shots->timeline.state->timeline = cpu_to_le64(3);
	scoped_guard(spinlock_irqsave, &vector->lock) {	/* recheck_work cannot run meanwhile */
		found = sidra_irq_check_vector(vector, false);
		left = irq_waiting(&shots->timeline);
	}
	KUNIT_EXPECT_EQ(test, found, FOUND | LEFT);
	KUNIT_EXPECT_EQ(test, left, FIRE_MAX + 1);
	flush_delayed_work(&vector->recheck_work);
	flush_delayed_work(&vector->recheck_work);
	KUNIT_EXPECT_NULL(test, sidra_irq_first_waiter(&shots->timeline));
	KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&shots->sdev->counters.rechecks), 0,
			    "no interrupt was lost");
}

/* So do all queues of a vector together, and none of them keeps the others waiting. */
static void irq_queues_share_a_batch(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	struct sidra_timeline *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	unsigned int i, found[2], first[2], second[2];

	KUNIT_ASSERT_NOT_NULL(test, other);
	irq_init_timeline(test, shots->sdev, other, 10);
	for (i = 0; i < FIRE_MAX + 10; i++) {
		irq_arm_at(test, shots, &shots->timeline, 1, false);
		irq_arm_at(test, shots, other, 1, false);
	}
	shots->timeline.state->timeline = cpu_to_le64(1);
	other->state->timeline = cpu_to_le64(1);
	scoped_guard(spinlock_irqsave, &vector->lock) {
		for (i = 0; i < 2; i++) {
			found[i] = sidra_irq_check_vector(vector, false);
			first[i] = irq_waiting(&shots->timeline);
			second[i] = irq_waiting(other);
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
	KUNIT_EXPECT_NULL(test, sidra_irq_first_waiter(&shots->timeline));
	KUNIT_EXPECT_NULL(test, sidra_irq_first_waiter(other));
	KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&shots->sdev->counters.rechecks), 0,
			    "no interrupt was lost");
	sidra_timeline_detach(shots->sdev, other);
}

static void irq_deletes_without_a_walk(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_vector *vector = &shots->sdev->vectors[1];
	struct sidra_uring_req req = { .value = 1 };

	KUNIT_ASSERT_TRUE(test, sidra_uring_req_add(shots->sdev, &shots->timeline, &req));
	/* A walk over the queues of the vector would not find it */
	scoped_guard(spinlock_irqsave, &vector->lock)
		list_del_init(&shots->timeline.link);
	KUNIT_EXPECT_TRUE(test, sidra_uring_req_del(&req));
	KUNIT_EXPECT_EQ(test, vector->sleepers, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&shots->timeline.reqs));
	req.result = -ECANCELED;
	KUNIT_EXPECT_FALSE(test, sidra_uring_req_del(&req));
	req.result = 0;
	KUNIT_EXPECT_FALSE(test, sidra_uring_req_del(&req));
}

/* sidra_waiter_take() must not remove waiters of another value, another kind or an ended epoch. */
static void irq_takes_by_value(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct sidra_timeline *timeline = &shots->timeline;
	struct sidra_uring_req list[] = { { .value = 3 }, { .value = 8 }, { .value = 9 } };
	struct shot *wanted;
	unsigned int i;

	for (i = 0; i < 10; i++)
		irq_arm_at(test, shots, timeline, 5 + i % 2, i % 3);
	wanted = irq_arm_at(test, shots, timeline, 7, false);
	KUNIT_EXPECT_PTR_EQ(test, sidra_waiter_take(shots->sdev, timeline, 7, irq_shoot),
			    &wanted->waiter);
	KUNIT_EXPECT_NULL(test, sidra_waiter_take(shots->sdev, timeline, 7, irq_shoot));
	KUNIT_EXPECT_NULL(test, sidra_waiter_take(shots->sdev, timeline, 5, NULL));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_NOT_NULL(test, sidra_waiter_take(shots->sdev, timeline, 5, irq_shoot));
	KUNIT_EXPECT_NULL(test, sidra_waiter_take(shots->sdev, timeline, 5, irq_shoot));
	sidra_epochs_begin(&timeline->epochs, EPOCH + 1, 0);
	KUNIT_EXPECT_NULL(test, sidra_waiter_take(shots->sdev, timeline, 6, irq_shoot));
	KUNIT_EXPECT_EQ(test, shots->count, 0);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		KUNIT_ASSERT_TRUE(test, sidra_uring_req_add(shots->sdev, timeline, &list[i]));
	KUNIT_EXPECT_NULL(test, sidra_uring_req_take(shots->sdev, timeline, 4));
	KUNIT_EXPECT_NULL(test, sidra_uring_req_take(shots->sdev, timeline, 8 + SLOTS));
	KUNIT_EXPECT_PTR_EQ(test, sidra_uring_req_take(shots->sdev, timeline, 8), &list[1]);
	KUNIT_EXPECT_NULL(test, sidra_uring_req_take(shots->sdev, timeline, 8));
	KUNIT_EXPECT_TRUE(test, sidra_uring_req_del(&list[0]));
	KUNIT_EXPECT_TRUE(test, sidra_uring_req_del(&list[2]));
	KUNIT_EXPECT_TRUE(test, list_empty(&timeline->reqs));
}

/* A command of io_uring, whose task never runs what completes it, so that it stays here. */
struct command {
	struct io_ring_ctx ring;
	struct io_kiocb kiocb;
};

static struct sidra_uring_req *irq_new_req(struct kunit *test, u64 value)
{
	struct command *command = kunit_kzalloc(test, sizeof(*command), GFP_KERNEL);
	struct sidra_uring_req *req;

	KUNIT_ASSERT_NOT_NULL(test, command);
	command->ring.flags = IORING_SETUP_DEFER_TASKRUN;
	atomic_set(&command->ring.cq_wait_nr, -1);	/* nobody sleeps until it has completed */
	command->kiocb.ctx = &command->ring;
	req = &sidra_uring_pdu_of(io_kiocb_to_cmd(&command->kiocb, struct io_uring_cmd))->req;
	req->value = value;
	return req;
}

/* Somebody may submit while the waiters of the former epoch are woken: that is not dropped. */
static void irq_end_of_an_epoch_is_no_end_of_the_next(struct kunit *test)
{
	/* Who completes requests looks at their queue */
	struct sidra_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_uring_req *dropped, *next;
	struct sidra_timeline *timeline;
	const u64 start = 5;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	timeline = &queue->timeline;
	irq_init_timeline(test, sdev, timeline, 3);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, irq_end_timer, timeline), 0);
	timeline->state->timeline = cpu_to_le64(start - 1);
	dropped = irq_new_req(test, start);
	next = irq_new_req(test, start + 1);
	KUNIT_EXPECT_TRUE(test, sidra_uring_req_add(sdev, timeline, dropped));
	sidra_timeline_begin_epoch(timeline, EPOCH + 1, start - 1);
	KUNIT_EXPECT_TRUE(test, sidra_uring_req_add(sdev, timeline, next));
	sidra_timeline_continue(timeline, start);
	KUNIT_EXPECT_EQ(test, dropped->result, -ECANCELED);
	KUNIT_ASSERT_PTR_EQ(test, sidra_irq_first_req(timeline), next);
	KUNIT_EXPECT_PTR_EQ(test, next->timeline, timeline);
	timeline->state->timeline = cpu_to_le64(start + 1);
	sidra_irq_queue_irq(0, &sdev->vectors[1]);
	KUNIT_EXPECT_NULL(test, sidra_irq_first_req(timeline));
	KUNIT_EXPECT_EQ(test, next->result, 0);
}

struct impatient {
	struct sidra_waiter waiter;
	struct sidra_timeline *timeline;
	bool again;
};

/* Adds patient waiters while the timer's function is running. */
static void irq_arm_while_the_timer_ends(struct sidra_waiter *waiter)
{
	struct impatient *impatient = container_of(waiter, struct impatient, waiter);

	sidra_irq_program(impatient->timeline->vector->sdev, impatient->timeline, false);
	impatient->again = hrtimer_is_queued(&impatient->timeline->patience);
}

static void irq_timer_starts_while_it_ends(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct impatient impatient = {
		.waiter = { .value = 1, .epoch = EPOCH, .fire = irq_arm_while_the_timer_ends },
		.timeline = &shots->timeline,
	};
	unsigned int i;
	u64 value;

	for (value = 2; value <= 40; value++)
		irq_arm_at(test, shots, &shots->timeline, value, true);
	sidra_waiter_add(shots->sdev, &shots->timeline, &impatient.waiter);
	shots->timeline.programmed = 40;	/* as if the chip was armed for a batch */
	shots->timeline.state->timeline = cpu_to_le64(1);
	hrtimer_start(&shots->timeline.patience, 0, HRTIMER_MODE_REL);
	for (i = 0; i < 10000 && READ_ONCE(impatient.waiter.queued); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_FALSE(test,
			   sidra_waiter_del(shots->sdev, &shots->timeline, &impatient.waiter));
	KUNIT_EXPECT_TRUE(test, impatient.again);
	sidra_timeline_detach(shots->sdev, &shots->timeline);
}

struct race {
	struct sidra_waiter waiter;
	atomic_t fired;
};

static void irq_race_fire(struct sidra_waiter *waiter)
{
	atomic_inc(&container_of(waiter, struct race, waiter)->fired);
}

static int irq_race_interrupts(void *data)
{
	struct shots *shots = data;

	while (!kthread_should_stop()) {
		u64 next = sidra_timeline_value(&shots->timeline) + 1;

		WRITE_ONCE(shots->timeline.state->timeline, cpu_to_le64(next));
		irq_interrupt(shots);
		cond_resched();
	}
	return 0;
}

/* Either the waiter is fired, or sidra_waiter_del() returns true, never both. */
static void irq_fire_and_delete_exclude_each_other(struct kunit *test)
{
	struct shots *shots = irq_start(test);
	struct task_struct *thread = kthread_run(irq_race_interrupts, shots, "sidra-test");
	unsigned int round, deleted = 0, fired = 0, wrong = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (round = 0; round < 2000; round++) {
		struct race race = {
			.waiter = {
				.value = sidra_timeline_value(&shots->timeline) + 1 + round % 2,
				.epoch = EPOCH,
				.fire = irq_race_fire,
			},
		};
		bool ours;

		sidra_waiter_add(shots->sdev, &shots->timeline, &race.waiter);
		if (round % 3)
			cpu_relax();
		ours = sidra_waiter_del(shots->sdev, &shots->timeline, &race.waiter);
		deleted += ours;
		fired += atomic_read(&race.fired);
		wrong += atomic_read(&race.fired) + ours != 1;
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, deleted + fired, 2000);
}

static struct kunit_case irq_cases[] = { KUNIT_CASE(irq_fires_in_order),
					 KUNIT_CASE(irq_fires_at_once_what_is_reached),
					 KUNIT_CASE(irq_stop_fires_all),
					 KUNIT_CASE(irq_programs_what_has_changed),
					 KUNIT_CASE(irq_patience_is_shared_and_ends),
					 KUNIT_CASE(irq_chip_is_armed_for_requests_once),
					 KUNIT_CASE(irq_wakes_in_batches),
					 KUNIT_CASE(irq_queues_share_a_batch),
					 KUNIT_CASE(irq_deletes_without_a_walk),
					 KUNIT_CASE(irq_takes_by_value),
					 KUNIT_CASE(irq_end_of_an_epoch_is_no_end_of_the_next),
					 KUNIT_CASE(irq_timer_starts_while_it_ends),
					 KUNIT_CASE(irq_fire_and_delete_exclude_each_other),
					 {} };

static struct kunit_suite irq_suite = {
	.name = "sidra_irq",
	.test_cases = irq_cases,
};

kunit_test_suite(irq_suite);
