// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>

#include "sidra_chip.h"
#include "sidra_compat.h"
#include "sidra_device.h"
#include "sidra_irq.h"
#include "sidra_trace.h"
#include "sidra_uring_pdu.h"

#define RECHECK_MS	50	/* the delay that a lost interrupt causes */
/* Waiters of all queues of a vector that are woken without releasing the lock */
#define FIRE_MAX	256u
#define BATCH_MAX	32u	/* patient waiters that share one interrupt */
#define BATCH_NS	200000u	/* the longest delay that this causes */
/* About the cost of an interrupt and a wake-up, so polling at most doubles that cost */
#define POLL_NS		20000u
#define POLL_SKIP_MAX	64u	/* submits without polling after polls that found nothing */

/* Results of a check for waiters that are due. */
#define FOUND	BIT(0)	/* some were woken */
#define LEFT	BIT(1)	/* others are still due */

/* ---- Waiters and pending commands ---- */

static bool sidra_irq_arm_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sidra_arm *first = rb_entry(a, struct sidra_arm, node),
			       *second = rb_entry(b, struct sidra_arm, node);

	/* Epoch numbers may wrap. */
	return first->epoch != second->epoch ? (s32)(first->epoch - second->epoch) < 0 :
					       first->value < second->value;
}

static struct sidra_arm *sidra_irq_first_armed(const struct sidra_point *point)
{
	struct rb_node *first = rb_first_cached(&point->armed);

	return first ? rb_entry(first, struct sidra_arm, node) : NULL;
}

static void sidra_irq_disarm(struct sidra_point *point, struct sidra_arm *arm)
{
	rb_erase_cached(&arm->node, &point->armed);
	arm->armed = false;
	point->vector->sleepers -= arm->sleeper;
}

static struct sidra_pending *sidra_irq_first_pending(struct sidra_point *point)
{
	return list_first_entry_or_null(&point->pending, struct sidra_pending, link);
}

static struct sidra_pending **sidra_irq_pending_slot(const struct sidra_point *point, u64 value)
{
	return &point->pending_slots[(value - 1) & point->pending_mask];
}

static void sidra_irq_unlink_pending(struct sidra_point *point, struct sidra_pending *pending)
{
	struct sidra_pending **at = sidra_irq_pending_slot(point, pending->value);

	/* Otherwise the ring has wrapped, and a later command has the slot */
	if (*at == pending)
		*at = NULL;
	WRITE_ONCE(pending->point, NULL);
	point->vector->sleepers--;
}

/* ---- Waking ---- */

/* Waiters for values up to this one are due. */
static u64 sidra_irq_reached(const struct sidra_point *point)
{
	return !point->attached || sidra_point_stopped(point) ? U64_MAX :
								sidra_point_timeline(point);
}

/* Completes pending commands for values up to @value, at most @budget of them; returns how many. */
static unsigned int sidra_irq_complete_pending(struct sidra_point *point, u64 value,
					       unsigned int budget)
{
	unsigned int count = 0;
	struct list_head *pos;
	LIST_HEAD(list);

	list_for_each(pos, &point->pending) {
		struct sidra_pending *pending = list_entry(pos, struct sidra_pending, link);

		if (pending->value > value || count == budget)
			break;
		sidra_irq_unlink_pending(point, pending);
		count++;
	}
	list_cut_before(&list, &point->pending, pos);
	if (count)
		sidra_pending_complete_all(point, &list);
	return count;
}

static bool sidra_irq_is_due(const struct sidra_point *point, const struct sidra_arm *arm,
			     u64 value)
{
	return arm->epoch != sidra_epochs_current(&point->epochs) || arm->value <= value;
}

/*
 * Completes pending commands for values up to @limit, and wakes waiters in the tree whose value was
 * reached or whose epoch has ended; at most @budget of both, and lowers it by their number. Who
 * takes the lock begins with a budget of FIRE_MAX. Returns FOUND, LEFT.
 */
static unsigned int sidra_irq_fire_due(struct sidra_point *point, u64 limit, unsigned int *budget)
{
	struct sidra_pending *pending = sidra_irq_first_pending(point);
	struct sidra_arm *arm = sidra_irq_first_armed(point);
	unsigned int count;
	u64 value;

	if (!arm && !pending)
		return 0;
	value = sidra_irq_reached(point);
	limit = max(limit, value);
	count = sidra_irq_complete_pending(point, limit, *budget);
	for (; arm && sidra_irq_is_due(point, arm, value) && count < *budget;
	     arm = sidra_irq_first_armed(point)) {
		sidra_irq_disarm(point, arm);
		arm->fire(arm);
		count++;
	}
	*budget -= count;
	pending = sidra_irq_first_pending(point);
	if (value == U64_MAX)
		point->programmed = 0;	/* the chip may no longer be armed */
	if (count && value != U64_MAX)
		trace_sidra_reached(point->vector->sdev->ordinal, point->slot, point->queue, value);
	return (count ? FOUND : 0) |
		((arm && sidra_irq_is_due(point, arm, value)) ||
				 (pending && pending->value <= limit) ?
			 LEFT :
			 0);
}

/* Repeats sidra_irq_fire_due() until nobody is due, and releases the lock in between. */
static void sidra_irq_fire_all(struct sidra_point *point, u64 limit)
{
	unsigned int found;

	do {
		unsigned int budget = FIRE_MAX;

		guard(spinlock_irqsave)(&point->vector->lock);
		found = sidra_irq_fire_due(point, limit, &budget);
	} while (found & LEFT);
}

/* Schedules the next check: immediately, or after RECHECK_MS while there are sleepers. */
static void sidra_irq_schedule_recheck(struct sidra_vector *vector, bool now)
{
	lockdep_assert_held(&vector->lock);
	if (now) {
		vector->more = true;
		mod_delayed_work(vector->sdev->fence_wq, &vector->recheck_work, 0);
	} else if (vector->sleepers) {
		queue_delayed_work(vector->sdev->fence_wq, &vector->recheck_work,
				   msecs_to_jiffies(RECHECK_MS));
	}
}

/* ---- Arming the chip ---- */

/* The value of the last waiter that may share an interrupt with @arm, the first one. */
static u64 sidra_irq_armed_batch(struct sidra_arm *arm)
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

/* The same for pending commands, which are all patient. */
static u64 sidra_irq_pending_batch(const struct sidra_point *point)
{
	unsigned int count = 0;
	struct sidra_pending *pending;
	u64 value = 0;

	list_for_each_entry(pending, &point->pending, link) {
		value = pending->value;
		if (++count == BATCH_MAX)
			break;
	}
	return value;
}

/*
 * Arms the chip for its next interrupt, unless it is already armed for a suitable value. If the
 * timeline has reached the value meanwhile, the chip raises the interrupt immediately. Called under
 * sidra_vector.lock, so that the last write to the register is the newest value. Unless @exact,
 * patient waiters may share the interrupt; a timer limits their delay.
 */
static void sidra_irq_program(struct sidra_device *sdev, struct sidra_point *point, bool exact)
{
	struct sidra_arm *arm = sidra_irq_first_armed(point);
	struct sidra_pending *pending = sidra_irq_first_pending(point);
	u64 armed = arm ? arm->value : U64_MAX, submitted = pending ? pending->value : U64_MAX;
	u64 first = min(armed, submitted), last;

	if ((!arm && !pending) || !point->attached || READ_ONCE(sdev->stopped))
		return;
	if (exact)
		last = first;
	else if (submitted < armed)
		last = min(armed, sidra_irq_pending_batch(point));
	else
		last = sidra_irq_armed_batch(arm);
	/* The last condition: this interrupt was raised, or is about to be */
	if (point->programmed < first || point->programmed > last ||
	    point->programmed <= sidra_point_timeline(point)) {
		point->programmed = last;
		trace_sidra_arm(sdev->ordinal, point->slot, point->queue, last);
		sidra_write64(sdev, SIDRA_ARM(point->slot, point->queue), last);
	}
	/*
	 * Not hrtimer_active(), which is still true while the timer's function returns: the timer
	 * would not be started.
	 */
	if (point->programmed != first && !hrtimer_is_queued(&point->patience))
		hrtimer_start(&point->patience, ns_to_ktime(BATCH_NS), HRTIMER_MODE_REL);
}

static unsigned int sidra_irq_check_point(struct sidra_point *point, bool exact,
					  unsigned int *budget)
{
	unsigned int found = sidra_irq_fire_due(point, 0, budget);

	if (found & LEFT)
		/* It will also arm the chip */
		sidra_irq_schedule_recheck(point->vector, true);
	else
		sidra_irq_program(point->vector->sdev, point, exact);
	return found;
}

/*
 * Checks once more after arming: a waiter that became due meanwhile does not wait for an interrupt
 * of a sleeping CPU.
 */
static void sidra_irq_program_and_check(struct sidra_device *sdev, struct sidra_point *point,
					unsigned int *budget)
{
	sidra_irq_program(sdev, point, false);
	if (sidra_irq_fire_due(point, 0, budget) & LEFT)
		sidra_irq_schedule_recheck(point->vector, true);
}

/*
 * Checks all queues of a vector, with one budget. The next check begins behind the queue that used
 * it up, so that a queue where somebody is always due does not keep others waiting.
 */
static unsigned int sidra_irq_check_vector(struct sidra_vector *vector, bool exact)
{
	unsigned int budget = FIRE_MAX, found = 0;
	struct sidra_point *point, *last = NULL;

	lockdep_assert_held(&vector->lock);
	list_for_each_entry(point, &vector->points, link) {
		found |= sidra_irq_check_point(point, exact, &budget);
		if (!budget && !last)
			last = point;
	}
	if (last)
		list_move(&vector->points, &last->link);
	return found;
}

static void sidra_irq_check_all(struct sidra_device *sdev)
{
	unsigned int i;

	for (i = 0; i < SIDRA_MSIX_VECTORS; i++) {
		guard(spinlock_irqsave)(&sdev->vectors[i].lock);
		sidra_irq_check_vector(&sdev->vectors[i], true);
	}
}

static enum hrtimer_restart sidra_irq_end_patience(struct hrtimer *timer)
{
	struct sidra_point *point = container_of(timer, struct sidra_point, patience);
	unsigned int budget = FIRE_MAX;

	guard(spinlock_irqsave)(&point->vector->lock);
	sidra_irq_check_point(point, true, &budget);
	return HRTIMER_NORESTART;
}

static irqreturn_t sidra_irq_queue_irq(int irq, void *data)
{
	struct sidra_vector *vector = data;
	struct sidra_device *sdev = vector->sdev;

	sidra_count(sdev, interrupts);
	trace_sidra_irq(sdev->ordinal, vector->number);
	guard(spinlock_irqsave)(&vector->lock);
	sidra_irq_check_vector(vector, false);
	return IRQ_HANDLED;
}

/*
 * On return every CPU sees the new value: whoever read the old one under a vector's lock has
 * released it.
 */
static void sidra_irq_set_stopped(struct sidra_device *sdev, bool stopped)
{
	unsigned int i;

	WRITE_ONCE(sdev->stopped, stopped);
	for (i = 0; i < SIDRA_MSIX_VECTORS; i++) {
		spin_lock_irq(&sdev->vectors[i].lock);
		spin_unlock_irq(&sdev->vectors[i].lock);
	}
}

void sidra_irq_hold(struct sidra_device *sdev)
{
	sidra_irq_set_stopped(sdev, true);
}

void sidra_irq_resume(struct sidra_device *sdev)
{
	sidra_irq_set_stopped(sdev, false);
	sidra_irq_check_all(sdev);
}

static irqreturn_t sidra_irq_admin_irq(int irq, void *data)
{
	struct sidra_vector *vector = data;
	struct sidra_device *sdev = vector->sdev;
	u32 causes = sidra_read32(sdev, SIDRA_REG_INT_STATUS);

	sidra_count(sdev, interrupts);
	trace_sidra_irq(sdev->ordinal, 0);
	if (causes == ~0u)	/* the link is gone; waiters notice it themselves */
		return IRQ_HANDLED;
	sidra_write32(sdev, SIDRA_REG_INT_STATUS, causes);
	if (causes & SIDRA_INT_ADMIN)
		complete(&sdev->chip.admin_done);
	if (causes & SIDRA_INT_MAILBOX)
		complete(&sdev->mailbox.answered);
	if (causes & SIDRA_INT_FIRMWARE)
		sidra_firmware_restarted(sdev);
	if (causes & SIDRA_INT_THERMAL)
		sidra_alarms_check(sdev);
	if (causes & SIDRA_INT_FAULT)
		sidra_irq_check_all(sdev);
	return IRQ_HANDLED;
}

static void sidra_irq_recheck_work(struct work_struct *work)
{
	struct sidra_vector *vector = container_of(to_delayed_work(work), struct sidra_vector,
						   recheck_work);
	bool more;

	guard(spinlock_irqsave)(&vector->lock);
	more = vector->more;
	vector->more = false;
	if ((sidra_irq_check_vector(vector, true) & FOUND) && !more)
		atomic64_inc(&vector->sdev->counters.rechecks);
	sidra_irq_schedule_recheck(vector, false);
}

void sidra_vectors_init(struct sidra_device *sdev)
{
	unsigned int i;

	for (i = 0; i < SIDRA_MSIX_VECTORS; i++) {
		struct sidra_vector *vector = &sdev->vectors[i];

		vector->sdev = sdev;
		vector->number = i;
		spin_lock_init(&vector->lock);
		INIT_LIST_HEAD(&vector->points);
		INIT_DELAYED_WORK(&vector->recheck_work, sidra_irq_recheck_work);
	}
}

bool sidra_irq_sleepers(const struct sidra_device *sdev)
{
	unsigned int i;

	for (i = 0; i < SIDRA_MSIX_VECTORS; i++)
		if (READ_ONCE(sdev->vectors[i].sleepers))
			return true;
	return false;
}

int sidra_irq_init(struct sidra_device *sdev)
{
	unsigned int i;
	int ret;

	sidra_vectors_init(sdev);
	ret = pci_alloc_irq_vectors(sdev->pdev, 2, SIDRA_MSIX_VECTORS, PCI_IRQ_MSIX);
	if (ret < 0)
		return dev_err_probe(&sdev->pdev->dev, ret, "no MSI-X vectors\n");
	sdev->chip.vectors = ret;
	for (i = 0; i < sdev->chip.vectors; i++) {
		ret = devm_request_irq(&sdev->pdev->dev, pci_irq_vector(sdev->pdev, i),
				       i ? sidra_irq_queue_irq : sidra_irq_admin_irq, 0, "sidra",
				       &sdev->vectors[i]);
		if (ret)
			return dev_err_probe(&sdev->pdev->dev, ret, "MSI-X vector %u\n", i);
		if (i) {
			sdev->vectors[i].cpu = cpumask_local_spread(i - 1,
								    dev_to_node(&sdev->pdev->dev));
			irq_set_affinity(pci_irq_vector(sdev->pdev, i),
					 cpumask_of(sdev->vectors[i].cpu));
		}
	}
	return 0;
}

/*
 * Prefers a vector of the current CPU, because waiters for a queue mostly run where the queue was
 * created. @spread, any number of the queue, distributes queues over the vectors of the CPU, or
 * over all if it has none. Vector 0 is not for queues.
 */
struct sidra_vector *sidra_irq_vector(struct sidra_device *sdev, unsigned int spread)
{
	const unsigned int cpu = raw_smp_processor_id();
	unsigned int i, here = 0;

	for (i = 1; i < sdev->chip.vectors; i++)
		here += sdev->vectors[i].cpu == cpu;
	if (!here)
		return &sdev->vectors[1 + spread % (sdev->chip.vectors - 1)];
	spread %= here;
	for (i = 1; sdev->vectors[i].cpu != cpu || spread--; i++)
		;
	return &sdev->vectors[i];
}

void sidra_irq_stop(struct sidra_device *sdev)
{
	unsigned int i;

	for (i = 0; i < SIDRA_MSIX_VECTORS; i++)
		cancel_delayed_work_sync(&sdev->vectors[i].recheck_work);
	for (i = 0; i < sdev->chip.vectors; i++)
		devm_free_irq(&sdev->pdev->dev, pci_irq_vector(sdev->pdev, i), &sdev->vectors[i]);
}

/* ---- Queues ---- */

void sidra_point_init(struct sidra_point *point, struct sidra_vector *vector, u32 slot, u32 queue)
{
	point->vector = vector;
	point->slot = slot;
	point->queue = queue;
	point->armed = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&point->pending);
	hrtimer_setup(&point->patience, sidra_irq_end_patience, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

void sidra_point_attach(struct sidra_device *sdev, struct sidra_point *point)
{
	guard(spinlock_irqsave)(&point->vector->lock);
	list_add_tail(&point->link, &point->vector->points);
	point->attached = true;
}

void sidra_point_detach(struct sidra_device *sdev, struct sidra_point *point)
{
	bool attached;

	scoped_guard(spinlock_irqsave, &point->vector->lock) {
		attached = point->attached;
		point->attached = false;
	}
	sidra_irq_fire_all(point, U64_MAX);
	if (attached) {
		guard(spinlock_irqsave)(&point->vector->lock);
		list_del(&point->link);
	}
	hrtimer_cancel(&point->patience);
}

int sidra_point_check(struct sidra_point *point, u32 epoch, u64 value)
{
	u64 timeline = sidra_point_timeline(point);
	bool stopped = sidra_point_stopped(point);

	/*
	 * Reads the timeline again if the queue stopped after the first read. A reset changes the
	 * epoch before the timeline.
	 */
	if (timeline < value && stopped)
		timeline = sidra_point_timeline(point);
	if (sidra_epochs_current(&point->epochs) != epoch)
		return sidra_epochs_retired(&point->epochs, epoch, value) ? 0 : -ECANCELED;
	if (timeline >= value)
		return 0;
	return stopped ? -EIO : -EINPROGRESS;
}

void sidra_point_begin_epoch(struct sidra_point *point, u32 epoch, u64 retired, u64 start)
{
	scoped_guard(spinlock_irqsave, &point->vector->lock) {
		sidra_epochs_begin(&point->epochs, epoch, retired);
		/* Read by the queue's owner */
		smp_store_release(&point->state->epoch, epoch);
		point->programmed = 0;
	}
	sidra_irq_fire_all(point, U64_MAX);
	/* After all waiters of the former epoch were woken */
	smp_store_release(&point->state->timeline, start);
}

void sidra_point_wake(struct sidra_device *sdev, struct sidra_point *point)
{
	scoped_guard(spinlock_irqsave, &point->vector->lock)
		point->programmed = 0;
	sidra_irq_fire_all(point, U64_MAX);
}

void sidra_point_loaded(struct sidra_device *sdev, struct sidra_point *point)
{
	unsigned int budget = FIRE_MAX;

	guard(spinlock_irqsave)(&point->vector->lock);
	point->programmed = 0;
	sidra_irq_program_and_check(sdev, point, &budget);
}

/* ---- Waiters ---- */

void sidra_arm_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	struct sidra_vector *vector = point->vector;
	unsigned int budget = FIRE_MAX, found;

	guard(spinlock_irqsave)(&vector->lock);
	arm->armed = true;
	vector->sleepers += arm->sleeper;
	rb_add_cached(&arm->node, &point->armed, sidra_irq_arm_less);
	found = sidra_irq_fire_due(point, 0, &budget);
	/* If there is an earlier waiter, the chip is armed already. */
	if (!(found & LEFT) && ((found & FOUND) || sidra_irq_first_armed(point) == arm))
		sidra_irq_program_and_check(sdev, point, &budget);
	sidra_irq_schedule_recheck(vector, found & LEFT);
}

bool sidra_arm_del(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm)
{
	guard(spinlock_irqsave)(&point->vector->lock);
	if (!arm->armed)
		return false;
	sidra_irq_disarm(point, arm);
	return true;
}

static int sidra_irq_arm_compare(const void *key, const struct rb_node *node)
{
	const struct sidra_arm *wanted = key, *arm = rb_entry(node, struct sidra_arm, node);

	if (wanted->epoch != arm->epoch)
		return (s32)(wanted->epoch - arm->epoch);
	return wanted->value < arm->value ? -1 : wanted->value > arm->value;
}

struct sidra_arm *sidra_arm_take(struct sidra_device *sdev, struct sidra_point *point, u64 value,
				 void (*fire)(struct sidra_arm *arm))
{
	const struct sidra_arm wanted = { .value = value,
					  .epoch = sidra_epochs_current(&point->epochs) };
	struct rb_node *node;

	guard(spinlock_irqsave)(&point->vector->lock);
	for (node = rb_find_first(&wanted, &point->armed.rb_root, sidra_irq_arm_compare); node;
	     node = rb_next_match(&wanted, node, sidra_irq_arm_compare)) {
		struct sidra_arm *arm = rb_entry(node, struct sidra_arm, node);

		if (arm->fire != fire)
			continue;
		sidra_irq_disarm(point, arm);
		return arm;
	}
	return NULL;
}

bool sidra_pending_add(struct sidra_device *sdev, struct sidra_point *point,
		       struct sidra_pending *pending)
{
	guard(spinlock_irqsave)(&point->vector->lock);
	if (!point->attached)
		return false;
	if (list_empty(&point->pending))
		/* Makes sidra_pending_arm() arm the chip for this command, too */
		point->programmed = 0;
	WRITE_ONCE(pending->point, point);
	*sidra_irq_pending_slot(point, pending->value) = pending;
	point->vector->sleepers++;
	list_add_tail(&pending->link, &point->pending);
	return true;
}

/*
 * If it is not queued any more, another CPU may use its link, so that is only valid under the lock.
 * The point is needed to find the lock, and RCU keeps it meanwhile.
 */
bool sidra_pending_del(struct sidra_pending *pending)
{
	struct sidra_point *point;

	guard(rcu)();
	point = READ_ONCE(pending->point);
	if (IS_ERR_OR_NULL(point))
		return false;
	guard(spinlock_irqsave)(&point->vector->lock);
	if (pending->point != point)
		return false;
	sidra_irq_unlink_pending(point, pending);
	list_del(&pending->link);
	return true;
}

struct sidra_pending *sidra_pending_take(struct sidra_device *sdev, struct sidra_point *point,
					 u64 value)
{
	struct sidra_pending *pending;

	if (!point->pending_slots)
		return NULL;
	guard(spinlock_irqsave)(&point->vector->lock);
	pending = *sidra_irq_pending_slot(point, value);
	if (!pending || pending->value != value)
		return NULL;
	sidra_irq_unlink_pending(point, pending);
	list_del(&pending->link);
	return pending;
}

void sidra_pending_poll(struct sidra_point *point, u64 value)
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

void sidra_pending_arm(struct sidra_device *sdev, struct sidra_point *point)
{
	unsigned int budget = FIRE_MAX, found;
	struct sidra_pending *pending;

	guard(spinlock_irqsave)(&point->vector->lock);
	if (list_empty(&point->pending))
		return;
	found = sidra_irq_fire_due(point, 0, &budget);
	/* Not needed if the chip is already armed for this value or a later one. */
	pending = sidra_irq_first_pending(point);
	if (!(found & LEFT) && pending && pending->value > point->programmed)
		sidra_irq_program_and_check(sdev, point, &budget);
	sidra_irq_schedule_recheck(point->vector, found & LEFT);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_irq_kunit.c"
#endif
