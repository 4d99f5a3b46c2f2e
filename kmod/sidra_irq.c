// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/rbtree.h>

#include "sidra_compat.h"
#include "sidra_drv.h"
#include "sidra_irq.h"
#include "sidra_trace.h"
#include "sidra_uring.h"

#define RECHECK_MS	50	/* a lost interrupt costs this much, never a hang */
#define BATCH_MAX	32u	/* patient waiters that one interrupt is for */
#define BATCH_NS	200000u	/* and what a patient one may lose by that */
#define POLL_NS		20000u	/* about what an interrupt and its wake-up cost: whoever looks so long loses at most as much again */
#define POLL_SKIP_MAX	64u	/* after looks in vain: this many times none */

static bool arm_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct sidra_arm, node)->value < rb_entry(b, struct sidra_arm, node)->value;
}

static struct sidra_arm *first_armed(const struct sidra_point *point)
{
	struct rb_node *first = rb_first_cached(&point->armed);

	return first ? rb_entry(first, struct sidra_arm, node) : NULL;
}

static void disarm(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	rb_erase_cached(&arm->node, &point->armed);
	arm->armed = false;
	sdev->sleepers -= arm->sleeper;
}

static struct sidra_turn *first_turn(struct sidra_point *point)
{
	return list_first_entry_or_null(&point->line, struct sidra_turn, link);
}

/* Whoever is in line and waits for at most that value leaves it. */
static bool serve(struct sidra_device *sdev, struct sidra_point *point, u64 value)
{
	struct list_head *pos;
	LIST_HEAD(turns);

	list_for_each(pos, &point->line) {
		struct sidra_turn *turn = list_entry(pos, struct sidra_turn, link);

		if (turn->value > value)
			break;
		turn->in_line = false;
		sdev->sleepers--;
	}
	list_cut_before(&turns, &point->line, pos);
	if (list_empty(&turns))
		return false;
	sidra_uring_end(point, &turns);
	return true;
}

/* Nobody waits afterwards, and the chip may have forgotten what it was armed for. */
static void fire_all(struct sidra_device *sdev, struct sidra_point *point)
{
	struct sidra_arm *arm;

	point->programmed = 0;
	serve(sdev, point, U64_MAX);
	while ((arm = first_armed(point))) {
		disarm(sdev, point, arm);
		arm->fire(arm);
	}
}

/* Fires what is reached; whether there was any. */
static bool fire_reached(struct sidra_device *sdev, struct sidra_point *point)
{
	struct sidra_arm *arm = first_armed(point);
	u64 timeline;
	bool any;

	if (!arm && list_empty(&point->line))
		return false;
	if (sidra_point_stopped(point)) {
		fire_all(sdev, point);
		return true;
	}
	timeline = sidra_point_timeline(point);
	any = serve(sdev, point, timeline);
	for (; arm && arm->value <= timeline; arm = first_armed(point)) {
		disarm(sdev, point, arm);
		arm->fire(arm);
		any = true;
	}
	if (any)
		trace_sidra_reached(sdev->ordinal, point->slot, point->queue, timeline);
	return any;
}

/* Of the last waiter that an interrupt may be for: of the first one itself, unless that is patient. */
static u64 armed_batch(struct sidra_arm *arm)
{
	unsigned int count;
	struct rb_node *next;

	for (count = 1; count < BATCH_MAX && arm->patient; count++) {
		next = rb_next(&arm->node);
		if (!next)
			break;
		arm = rb_entry(next, struct sidra_arm, node);
	}
	return arm->value;
}

/* The same for the line, where everybody is patient. */
static u64 line_batch(const struct sidra_point *point)
{
	unsigned int count = 0;
	struct sidra_turn *turn;
	u64 value = 0;

	list_for_each_entry(turn, &point->line, link) {
		value = turn->value;
		if (++count == BATCH_MAX)
			break;
	}
	return value;
}

/*
 * Gives the chip the value of its next interrupt, unless it is armed for one that does; under irq_lock, so that its last
 * write is the newest one. If the timeline has reached it meanwhile the chip raises at once. Not @exact: several patient
 * waiters share the interrupt, and a timer ends their patience.
 */
static void program(struct sidra_device *sdev, struct sidra_point *point, bool exact)
{
	struct sidra_arm *arm = first_armed(point);
	struct sidra_turn *turn = first_turn(point);
	u64 armed = arm ? arm->value : U64_MAX, in_line = turn ? turn->value : U64_MAX, first = min(armed, in_line), last;

	if ((!arm && !turn) || !point->attached || sdev->stopped)
		return;
	if (exact)
		last = first;
	else if (in_line < armed)
		last = min(armed, line_batch(point));
	else
		last = armed_batch(arm);
	if (point->programmed < first || point->programmed > last ||
	    point->programmed <= sidra_point_timeline(point)) {	/* it has raised, or is about to */
		point->programmed = last;
		trace_sidra_arm(sdev->ordinal, point->slot, point->queue, last);
		sidra_write64(sdev, SIDRA_ARM(point->slot, point->queue), last);
	}
	if (point->programmed != first && !hrtimer_active(&sdev->batch_timer))
		hrtimer_start(&sdev->batch_timer, ns_to_ktime(BATCH_NS), HRTIMER_MODE_REL);
}

/* What has ended meanwhile does not wait for its interrupt, which may go to a CPU that sleeps. */
static void program_and_look(struct sidra_device *sdev, struct sidra_point *point)
{
	program(sdev, point, false);
	fire_reached(sdev, point);
}

/* Whether a point had something to fire. */
static bool look_at(struct sidra_device *sdev, unsigned int vector, bool exact)
{
	struct sidra_point *point;
	bool any = false;

	list_for_each_entry(point, &sdev->points[vector], link) {
		any |= fire_reached(sdev, point);
		program(sdev, point, exact);
	}
	return any;
}

static bool look_at_all(struct sidra_device *sdev)
{
	unsigned int vector;
	bool any = false;

	for (vector = 0; vector < SIDRA_MSIX_VECTORS; vector++)
		any |= look_at(sdev, vector, true);
	return any;
}

static enum hrtimer_restart end_patience(struct hrtimer *timer)
{
	struct sidra_device *sdev = container_of(timer, struct sidra_device, batch_timer);

	guard(spinlock_irqsave)(&sdev->irq_lock);
	look_at_all(sdev);
	return HRTIMER_NORESTART;
}

static irqreturn_t queue_irq(int irq, void *data)
{
	struct sidra_vector *vector = data;
	struct sidra_device *sdev = vector->sdev;

	atomic64_inc(&sdev->counters.interrupts);
	trace_sidra_irq(sdev->ordinal, vector->number);
	guard(spinlock_irqsave)(&sdev->irq_lock);
	look_at(sdev, vector->number, false);
	return IRQ_HANDLED;
}

void sidra_irq_hold(struct sidra_device *sdev)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	WRITE_ONCE(sdev->stopped, true);
}

void sidra_irq_go_on(struct sidra_device *sdev)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	WRITE_ONCE(sdev->stopped, false);
	look_at_all(sdev);
}

static irqreturn_t admin_irq(int irq, void *data)
{
	struct sidra_vector *vector = data;
	struct sidra_device *sdev = vector->sdev;
	u32 causes = sidra_read32(sdev, SIDRA_REG_INT_STATUS);

	atomic64_inc(&sdev->counters.interrupts);
	trace_sidra_irq(sdev->ordinal, 0);
	if (causes == ~0u)	/* the link is gone; whoever waits finds out */
		return IRQ_HANDLED;
	sidra_write32(sdev, SIDRA_REG_INT_STATUS, causes);
	if (causes & SIDRA_INT_ADMIN)
		complete(&sdev->chip.admin_done);
	if (causes & SIDRA_INT_MAILBOX)
		complete(&sdev->mailbox.answered);
	if (causes & SIDRA_INT_FIRMWARE)
		sidra_firmware_happened(sdev);
	if (causes & SIDRA_INT_THERMAL)
		sidra_alarms_look(sdev);
	if (causes & SIDRA_INT_FAULT) {
		guard(spinlock_irqsave)(&sdev->irq_lock);
		look_at_all(sdev);
	}
	return IRQ_HANDLED;
}

static void recheck_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(to_delayed_work(work), struct sidra_device, recheck_work);

	guard(spinlock_irqsave)(&sdev->irq_lock);
	if (look_at_all(sdev))
		atomic64_inc(&sdev->counters.rechecks);
	if (sdev->sleepers)
		queue_delayed_work(sdev->fence_wq, &sdev->recheck_work, msecs_to_jiffies(RECHECK_MS));
}

void sidra_points_init(struct sidra_device *sdev)
{
	unsigned int i;

	spin_lock_init(&sdev->irq_lock);
	INIT_DELAYED_WORK(&sdev->recheck_work, recheck_work);
	hrtimer_setup(&sdev->batch_timer, end_patience, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	for (i = 0; i < SIDRA_MSIX_VECTORS; i++)
		INIT_LIST_HEAD(&sdev->points[i]);
}

int sidra_irq_init(struct sidra_device *sdev)
{
	unsigned int i;
	int ret;

	sidra_points_init(sdev);
	ret = pci_alloc_irq_vectors(sdev->pdev, 2, SIDRA_MSIX_VECTORS, PCI_IRQ_MSIX);
	if (ret < 0)
		return dev_err_probe(&sdev->pdev->dev, ret, "no MSI-X vectors\n");
	sdev->chip.vectors = ret;
	for (i = 0; i < sdev->chip.vectors; i++) {
		sdev->vectors[i] = (struct sidra_vector){ .sdev = sdev, .number = i };
		ret = devm_request_irq(&sdev->pdev->dev, pci_irq_vector(sdev->pdev, i), i ? queue_irq : admin_irq, 0,
				       "sidra", &sdev->vectors[i]);
		if (ret)
			return dev_err_probe(&sdev->pdev->dev, ret, "MSI-X vector %u\n", i);
		if (i) {
			sdev->vectors[i].cpu = cpumask_local_spread(i - 1, dev_to_node(&sdev->pdev->dev));
			irq_set_affinity(pci_irq_vector(sdev->pdev, i), cpumask_of(sdev->vectors[i].cpu));
		}
	}
	return 0;
}

/*
 * Those who wait for a queue mostly run where it was made: their CPU is the one to be interrupted. Vectors of a CPU are shared
 * out evenly by `spread`, which is any number of the queue's; so are all, where a CPU has none. Vector 0 is not for queues.
 */
unsigned int sidra_irq_vector(const struct sidra_device *sdev, unsigned int spread)
{
	const unsigned int cpu = raw_smp_processor_id();
	unsigned int i, here = 0;

	for (i = 1; i < sdev->chip.vectors; i++)
		here += sdev->vectors[i].cpu == cpu;
	if (!here)
		return 1 + spread % (sdev->chip.vectors - 1);
	spread %= here;
	for (i = 1; sdev->vectors[i].cpu != cpu || spread--; i++)
		;
	return i;
}

void sidra_irq_stop(struct sidra_device *sdev)
{
	unsigned int i;

	cancel_delayed_work_sync(&sdev->recheck_work);
	hrtimer_cancel(&sdev->batch_timer);
	for (i = 0; i < sdev->chip.vectors; i++)
		devm_free_irq(&sdev->pdev->dev, pci_irq_vector(sdev->pdev, i), &sdev->vectors[i]);
}

void sidra_point_attach(struct sidra_device *sdev, struct sidra_point *point)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	list_add_tail(&point->link, &sdev->points[point->vector]);
	point->attached = true;
}

void sidra_point_detach(struct sidra_device *sdev, struct sidra_point *point)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	if (point->attached)
		list_del(&point->link);
	point->attached = false;
	fire_all(sdev, point);
}

void sidra_point_wake(struct sidra_device *sdev, struct sidra_point *point)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	fire_all(sdev, point);
}

void sidra_point_forgotten(struct sidra_device *sdev, struct sidra_point *point)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	point->programmed = 0;
	program_and_look(sdev, point);
}

void sidra_arm_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	arm->armed = true;
	sdev->sleepers += arm->sleeper;
	rb_add_cached(&arm->node, &point->armed, arm_less);
	if (!point->attached) {
		fire_all(sdev, point);
		return;
	}
	/* Behind another one that is still waited for, the chip is armed already: no register write. */
	if (fire_reached(sdev, point) || first_armed(point) == arm)
		program_and_look(sdev, point);
	if (sdev->sleepers)
		queue_delayed_work(sdev->fence_wq, &sdev->recheck_work, msecs_to_jiffies(RECHECK_MS));
}

bool sidra_arm_del_locked(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	lockdep_assert_held(&sdev->irq_lock);
	if (!arm->armed)
		return false;
	disarm(sdev, point, arm);
	return true;
}

bool sidra_arm_del(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	return sidra_arm_del_locked(sdev, point, arm);
}

bool sidra_turn_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_turn *turn)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	if (!point->attached)
		return false;
	if (list_empty(&point->line))
		point->programmed = 0;	/* that was for others: sidra_turns_told() has to look */
	turn->in_line = true;
	sdev->sleepers++;
	list_add_tail(&turn->link, &point->line);
	return true;
}

bool sidra_turn_del_locked(struct sidra_device *sdev, struct sidra_turn *turn)
{
	lockdep_assert_held(&sdev->irq_lock);
	if (!turn->in_line)
		return false;
	turn->in_line = false;
	sdev->sleepers--;
	list_del(&turn->link);
	return true;
}

bool sidra_turn_del(struct sidra_device *sdev, struct sidra_turn *turn)
{
	guard(spinlock_irqsave)(&sdev->irq_lock);
	return sidra_turn_del_locked(sdev, turn);
}

void sidra_turns_poll(struct sidra_point *point, u64 value)
{
	u64 until;

	if (point->poll_skip) {
		point->poll_skip--;
		return;
	}
	until = ktime_get_ns() + POLL_NS;
	while (sidra_point_timeline(point) < value) {
		if (sidra_point_stopped(point) || need_resched() || ktime_get_ns() > until) {
			point->poll_misses = min(2 * point->poll_misses + 1, POLL_SKIP_MAX);
			point->poll_skip = point->poll_misses;
			return;
		}
		cpu_relax();
	}
	point->poll_misses = 0;
}

void sidra_turns_told(struct sidra_device *sdev, struct sidra_point *point)
{
	struct sidra_turn *turn;

	guard(spinlock_irqsave)(&sdev->irq_lock);
	if (list_empty(&point->line))
		return;
	fire_reached(sdev, point);
	/* Unless the interrupt of those in front is for them, too. */
	turn = first_turn(point);
	if (turn && turn->value > point->programmed)
		program_and_look(sdev, point);
	if (sdev->sleepers)
		queue_delayed_work(sdev->fence_wq, &sdev->recheck_work, msecs_to_jiffies(RECHECK_MS));
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_irq_kunit.c"
#endif
