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

/* ---- Waiters and requests ---- */

static bool sidra_irq_waiter_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sidra_waiter *first = rb_entry(a, struct sidra_waiter, node),
				  *second = rb_entry(b, struct sidra_waiter, node);

	/* Epoch numbers may wrap. */
	return first->epoch != second->epoch ? (s32)(first->epoch - second->epoch) < 0 :
					       first->value < second->value;
}

static struct sidra_waiter *sidra_irq_first_waiter(const struct sidra_timeline *timeline)
{
	struct rb_node *first = rb_first_cached(&timeline->waiters);

	return first ? rb_entry(first, struct sidra_waiter, node) : NULL;
}

static void sidra_irq_remove_waiter(struct sidra_timeline *timeline, struct sidra_waiter *waiter)
{
	rb_erase_cached(&waiter->node, &timeline->waiters);
	waiter->queued = false;
	timeline->vector->sleepers -= waiter->sleeper;
}

static struct sidra_uring_req *sidra_irq_first_req(struct sidra_timeline *timeline)
{
	return list_first_entry_or_null(&timeline->reqs, struct sidra_uring_req, link);
}

static struct sidra_uring_req **sidra_irq_req_slot(const struct sidra_timeline *timeline, u64 value)
{
	return &timeline->req_slots[(value - 1) & timeline->req_mask];
}

static void sidra_irq_unlink_req(struct sidra_timeline *timeline, struct sidra_uring_req *req)
{
	struct sidra_uring_req **at = sidra_irq_req_slot(timeline, req->value);

	/* Otherwise the ring has wrapped, and a later request has the slot */
	if (*at == req)
		*at = NULL;
	WRITE_ONCE(req->timeline, NULL);
	timeline->vector->sleepers--;
}

/* ---- Waking ---- */

/* Waiters for values up to this one are due. */
static u64 sidra_irq_reached(const struct sidra_timeline *timeline)
{
	return !timeline->attached || sidra_timeline_stopped(timeline) ?
		       U64_MAX :
		       sidra_timeline_value(timeline);
}

/* Completes requests for values up to @value, at most @budget of them; returns how many. */
static unsigned int sidra_irq_complete_reqs(struct sidra_timeline *timeline, u64 value,
					    unsigned int budget)
{
	unsigned int count = 0;
	struct list_head *pos;
	LIST_HEAD(list);

	list_for_each(pos, &timeline->reqs) {
		struct sidra_uring_req *req = list_entry(pos, struct sidra_uring_req, link);

		if (req->value > value || count == budget)
			break;
		sidra_irq_unlink_req(timeline, req);
		count++;
	}
	list_cut_before(&list, &timeline->reqs, pos);
	if (count)
		sidra_uring_req_complete_all(timeline, &list);
	return count;
}

static bool sidra_irq_is_due(const struct sidra_timeline *timeline,
			     const struct sidra_waiter *waiter, u64 value)
{
	return waiter->epoch != sidra_epochs_current(&timeline->epochs) || waiter->value <= value;
}

/*
 * Completes requests for values up to @limit, and wakes waiters in the tree whose value was
 * reached or whose epoch has ended; at most @budget of both, and lowers it by their number. Who
 * takes the lock begins with a budget of FIRE_MAX. Returns FOUND, LEFT.
 */
static unsigned int sidra_irq_fire_due(struct sidra_timeline *timeline, u64 limit,
				       unsigned int *budget)
{
	struct sidra_uring_req *req = sidra_irq_first_req(timeline);
	struct sidra_waiter *waiter = sidra_irq_first_waiter(timeline);
	unsigned int count;
	u64 value;

	if (!waiter && !req)
		return 0;
	value = sidra_irq_reached(timeline);
	limit = max(limit, value);
	count = sidra_irq_complete_reqs(timeline, limit, *budget);
	for (; waiter && sidra_irq_is_due(timeline, waiter, value) && count < *budget;
	     waiter = sidra_irq_first_waiter(timeline)) {
		sidra_irq_remove_waiter(timeline, waiter);
		waiter->fire(waiter);
		count++;
	}
	*budget -= count;
	req = sidra_irq_first_req(timeline);
	if (value == U64_MAX)
		timeline->programmed = 0;	/* the chip may no longer be armed */
	if (count && value != U64_MAX)
		trace_sidra_reached(timeline->vector->sdev->ordinal, timeline->slot,
				    timeline->queue, value);
	if ((waiter && sidra_irq_is_due(timeline, waiter, value)) || (req && req->value <= limit))
		return LEFT | (count ? FOUND : 0);
	return count ? FOUND : 0;
}

/*
 * Repeats sidra_irq_fire_due() until nobody is due, and releases the lock and the CPU in between.
 */
static void sidra_irq_fire_all(struct sidra_timeline *timeline, u64 limit)
{
	unsigned int found;

	do {
		unsigned int budget = FIRE_MAX;

		scoped_guard(spinlock_irqsave, &timeline->vector->lock)
			found = sidra_irq_fire_due(timeline, limit, &budget);
		cond_resched();
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

/* The value of the last waiter that may share an interrupt with @waiter, the first one. */
static u64 sidra_irq_waiter_batch(struct sidra_waiter *waiter)
{
	unsigned int count;
	struct rb_node *next;

	for (count = 1; count < BATCH_MAX && waiter->patient; count++) {
		next = rb_next(&waiter->node);
		if (!next)
			break;
		waiter = rb_entry(next, struct sidra_waiter, node);
	}
	return waiter->value;
}

/* The same for requests, which are all patient. */
static u64 sidra_irq_req_batch(const struct sidra_timeline *timeline)
{
	unsigned int count = 0;
	struct sidra_uring_req *req;
	u64 value = 0;

	list_for_each_entry(req, &timeline->reqs, link) {
		value = req->value;
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
static void sidra_irq_program(struct sidra_device *sdev, struct sidra_timeline *timeline,
			      bool exact)
{
	struct sidra_waiter *waiter = sidra_irq_first_waiter(timeline);
	struct sidra_uring_req *req = sidra_irq_first_req(timeline);
	u64 armed = waiter ? waiter->value : U64_MAX, submitted = req ? req->value : U64_MAX;
	u64 first = min(armed, submitted), last;

	if ((!waiter && !req) || !timeline->attached || READ_ONCE(sdev->stopped))
		return;
	if (exact)
		last = first;
	else if (submitted < armed)
		last = min(armed, sidra_irq_req_batch(timeline));
	else
		last = sidra_irq_waiter_batch(waiter);
	/* The last condition: this interrupt was raised, or is about to be */
	if (timeline->programmed < first || timeline->programmed > last ||
	    timeline->programmed <= sidra_timeline_value(timeline)) {
		timeline->programmed = last;
		trace_sidra_arm(sdev->ordinal, timeline->slot, timeline->queue, last);
		sidra_write64(sdev, SIDRA_ARM(timeline->slot, timeline->queue), last);
	}
	/*
	 * Not hrtimer_active(), which is still true while the timer's function returns: the timer
	 * would not be started.
	 */
	if (timeline->programmed != first && !hrtimer_is_queued(&timeline->patience))
		hrtimer_start(&timeline->patience, ns_to_ktime(BATCH_NS), HRTIMER_MODE_REL);
}

static unsigned int sidra_irq_check_timeline(struct sidra_timeline *timeline, bool exact,
					     unsigned int *budget)
{
	unsigned int found = sidra_irq_fire_due(timeline, 0, budget);

	if (found & LEFT)
		/* It will also arm the chip */
		sidra_irq_schedule_recheck(timeline->vector, true);
	else
		sidra_irq_program(timeline->vector->sdev, timeline, exact);
	return found;
}

/*
 * Checks once more after arming: a waiter that became due meanwhile does not wait for an interrupt
 * of a sleeping CPU.
 */
static void sidra_irq_program_and_check(struct sidra_device *sdev, struct sidra_timeline *timeline,
					unsigned int *budget)
{
	sidra_irq_program(sdev, timeline, false);
	if (sidra_irq_fire_due(timeline, 0, budget) & LEFT)
		sidra_irq_schedule_recheck(timeline->vector, true);
}

/*
 * Checks all queues of a vector, with one budget. The next check begins behind the queue that used
 * it up, so that a queue where somebody is always due does not keep others waiting.
 */
static unsigned int sidra_irq_check_vector(struct sidra_vector *vector, bool exact)
{
	unsigned int budget = FIRE_MAX, found = 0;
	struct sidra_timeline *timeline, *last = NULL;

	lockdep_assert_held(&vector->lock);
	list_for_each_entry(timeline, &vector->timelines, link) {
		found |= sidra_irq_check_timeline(timeline, exact, &budget);
		if (!budget && !last)
			last = timeline;
	}
	if (last)
		list_move(&vector->timelines, &last->link);
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
	struct sidra_timeline *timeline = container_of(timer, struct sidra_timeline, patience);
	unsigned int budget = FIRE_MAX;

	guard(spinlock_irqsave)(&timeline->vector->lock);
	sidra_irq_check_timeline(timeline, true, &budget);
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
		INIT_LIST_HEAD(&vector->timelines);
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

void sidra_timeline_init(struct sidra_timeline *timeline, struct sidra_vector *vector, u32 slot,
			 u32 queue)
{
	timeline->vector = vector;
	timeline->slot = slot;
	timeline->queue = queue;
	timeline->waiters = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&timeline->reqs);
	hrtimer_setup(&timeline->patience, sidra_irq_end_patience, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
}

void sidra_timeline_attach(struct sidra_device *sdev, struct sidra_timeline *timeline)
{
	guard(spinlock_irqsave)(&timeline->vector->lock);
	list_add_tail(&timeline->link, &timeline->vector->timelines);
	timeline->attached = true;
}

void sidra_timeline_detach(struct sidra_device *sdev, struct sidra_timeline *timeline)
{
	bool attached;

	scoped_guard(spinlock_irqsave, &timeline->vector->lock) {
		attached = timeline->attached;
		timeline->attached = false;
	}
	sidra_irq_fire_all(timeline, U64_MAX);
	if (attached) {
		guard(spinlock_irqsave)(&timeline->vector->lock);
		list_del(&timeline->link);
	}
	hrtimer_cancel(&timeline->patience);
}

int sidra_timeline_check(struct sidra_timeline *timeline, u32 epoch, u64 value)
{
	u64 retired = sidra_timeline_value(timeline);
	bool stopped = sidra_timeline_stopped(timeline);

	/*
	 * Reads the timeline again if the queue stopped after the first read. A reset changes the
	 * epoch before the timeline.
	 */
	if (retired < value && stopped)
		retired = sidra_timeline_value(timeline);
	if (sidra_epochs_current(&timeline->epochs) != epoch)
		return sidra_epochs_retired(&timeline->epochs, epoch, value) ? 0 : -ECANCELED;
	if (retired >= value)
		return 0;
	return stopped ? -EIO : -EINPROGRESS;
}

void sidra_timeline_begin_epoch(struct sidra_timeline *timeline, u32 epoch, u64 retired)
{
	guard(spinlock_irqsave)(&timeline->vector->lock);
	sidra_epochs_begin(&timeline->epochs, epoch, retired);
	/* Read by the queue's owner */
	smp_store_release(&timeline->state->epoch, cpu_to_le32(epoch));
	timeline->programmed = 0;
}

void sidra_timeline_continue(struct sidra_timeline *timeline, u64 start)
{
	/* Not requests behind @start: they are of the epoch that has begun */
	sidra_irq_fire_all(timeline, start);
	/* After all waiters of the former epoch were woken */
	smp_store_release(&timeline->state->timeline, cpu_to_le64(start));
}

void sidra_timeline_wake(struct sidra_device *sdev, struct sidra_timeline *timeline)
{
	scoped_guard(spinlock_irqsave, &timeline->vector->lock)
		timeline->programmed = 0;
	sidra_irq_fire_all(timeline, U64_MAX);
}

void sidra_timeline_loaded(struct sidra_device *sdev, struct sidra_timeline *timeline)
{
	unsigned int budget = FIRE_MAX;

	guard(spinlock_irqsave)(&timeline->vector->lock);
	timeline->programmed = 0;
	sidra_irq_program_and_check(sdev, timeline, &budget);
}

/* ---- Waiters ---- */

void sidra_waiter_add(struct sidra_device *sdev, struct sidra_timeline *timeline,
		      struct sidra_waiter *waiter)
{
	struct sidra_vector *vector = timeline->vector;
	unsigned int budget = FIRE_MAX, found;

	guard(spinlock_irqsave)(&vector->lock);
	waiter->queued = true;
	vector->sleepers += waiter->sleeper;
	rb_add_cached(&waiter->node, &timeline->waiters, sidra_irq_waiter_less);
	found = sidra_irq_fire_due(timeline, 0, &budget);
	/* If there is an earlier waiter, the chip is armed already. */
	if (!(found & LEFT) && ((found & FOUND) || sidra_irq_first_waiter(timeline) == waiter))
		sidra_irq_program_and_check(sdev, timeline, &budget);
	sidra_irq_schedule_recheck(vector, found & LEFT);
}

bool sidra_waiter_del(struct sidra_device *sdev, struct sidra_timeline *timeline,
		      struct sidra_waiter *waiter)
{
	guard(spinlock_irqsave)(&timeline->vector->lock);
	if (!waiter->queued)
		return false;
	sidra_irq_remove_waiter(timeline, waiter);
	return true;
}

static int sidra_irq_waiter_compare(const void *key, const struct rb_node *node)
{
	const struct sidra_waiter *wanted = key,
				  *waiter = rb_entry(node, struct sidra_waiter, node);

	if (wanted->epoch != waiter->epoch)
		return (s32)(wanted->epoch - waiter->epoch);
	return wanted->value < waiter->value ? -1 : wanted->value > waiter->value;
}

struct sidra_waiter *sidra_waiter_take(struct sidra_device *sdev, struct sidra_timeline *timeline,
				       u64 value, void (*fire)(struct sidra_waiter *waiter))
{
	const struct sidra_waiter wanted = { .value = value,
					     .epoch = sidra_epochs_current(&timeline->epochs) };
	struct rb_node *node;

	guard(spinlock_irqsave)(&timeline->vector->lock);
	for (node = rb_find_first(&wanted, &timeline->waiters.rb_root, sidra_irq_waiter_compare);
	     node; node = rb_next_match(&wanted, node, sidra_irq_waiter_compare)) {
		struct sidra_waiter *waiter = rb_entry(node, struct sidra_waiter, node);

		if (waiter->fire != fire)
			continue;
		sidra_irq_remove_waiter(timeline, waiter);
		return waiter;
	}
	return NULL;
}

bool sidra_uring_req_add(struct sidra_device *sdev, struct sidra_timeline *timeline,
			 struct sidra_uring_req *req)
{
	guard(spinlock_irqsave)(&timeline->vector->lock);
	if (!timeline->attached)
		return false;
	if (list_empty(&timeline->reqs))
		/* Makes sidra_uring_req_arm() arm the chip for this request, too */
		timeline->programmed = 0;
	WRITE_ONCE(req->timeline, timeline);
	*sidra_irq_req_slot(timeline, req->value) = req;
	timeline->vector->sleepers++;
	list_add_tail(&req->link, &timeline->reqs);
	return true;
}

/*
 * If it is not queued any more, another CPU may use its link, so that is only valid under the lock.
 * The timeline is needed to find the lock, and RCU keeps it meanwhile.
 */
bool sidra_uring_req_del(struct sidra_uring_req *req)
{
	struct sidra_timeline *timeline;

	guard(rcu)();
	timeline = READ_ONCE(req->timeline);
	if (IS_ERR_OR_NULL(timeline))
		return false;
	guard(spinlock_irqsave)(&timeline->vector->lock);
	if (req->timeline != timeline)
		return false;
	sidra_irq_unlink_req(timeline, req);
	list_del(&req->link);
	return true;
}

struct sidra_uring_req *sidra_uring_req_take(struct sidra_device *sdev,
					     struct sidra_timeline *timeline, u64 value)
{
	struct sidra_uring_req *req;

	if (!timeline->req_slots)
		return NULL;
	guard(spinlock_irqsave)(&timeline->vector->lock);
	req = *sidra_irq_req_slot(timeline, value);
	if (!req || req->value != value)
		return NULL;
	sidra_irq_unlink_req(timeline, req);
	list_del(&req->link);
	return req;
}

void sidra_uring_req_poll(struct sidra_timeline *timeline, u64 value)
{
	u64 until;

	if (timeline->poll_skip) {
		timeline->poll_skip--;
		return;
	}
	until = ktime_get_ns() + POLL_NS;
	while (sidra_timeline_value(timeline) < value) {
		if (sidra_timeline_stopped(timeline) || need_resched() || ktime_get_ns() > until) {
			timeline->poll_misses = min(2 * timeline->poll_misses + 1, POLL_SKIP_MAX);
			timeline->poll_skip = timeline->poll_misses;
			return;
		}
		cpu_relax();
	}
	timeline->poll_misses = 0;
}

void sidra_uring_req_arm(struct sidra_device *sdev, struct sidra_timeline *timeline)
{
	unsigned int budget = FIRE_MAX, found;
	struct sidra_uring_req *req;

	guard(spinlock_irqsave)(&timeline->vector->lock);
	if (list_empty(&timeline->reqs))
		return;
	found = sidra_irq_fire_due(timeline, 0, &budget);
	/* Not needed if the chip is already armed for this value or a later one. */
	req = sidra_irq_first_req(timeline);
	if (!(found & LEFT) && req && req->value > timeline->programmed)
		sidra_irq_program_and_check(sdev, timeline, &budget);
	sidra_irq_schedule_recheck(timeline->vector, found & LEFT);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_irq_kunit.c"
#endif
