/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts and waiters. Each queue has a struct sidra_timeline. It keeps the waiters for its
 * values in a tree, and requests of io_uring that wait for their packets in a list; the chip is
 * armed for the value of the next interrupt. The lock of the queue's vector protects all of that.
 * Interrupt handlers take this lock, so the driver wakes at most FIRE_MAX waiters at a time under
 * it, whatever queues they wait for, and finds a waiter that is to be cancelled without walking a
 * list.
 */
#ifndef __SIDRA_IRQ_H__
#define __SIDRA_IRQ_H__

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/rbtree_types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

#include "sidra_epoch.h"

struct sidra_device;
struct sidra_uring_req;

/**
 * struct sidra_vector - an MSI-X vector and the queues whose interrupts it delivers
 * @sdev: the device
 * @number: 0 is for the device, the others are for queues
 * @cpu: CPU that it is delivered to by default
 * @lock: protects the rest, and fields of struct sidra_timeline that say so; taken in
 *        hard interrupts
 * @timelines: struct sidra_timeline of its queues
 * @sleepers: number of waiters that rely on interrupts; threads in WAIT check the timeline
 *            periodically themselves
 * @recheck_work: checks timelines for them periodically, as an interrupt may be lost; immediately
 *                if @more
 * @more: FIRE_MAX waiters were woken, and others are still due
 */
struct sidra_vector {
	struct sidra_device *sdev;
	unsigned int number;
	unsigned int cpu;

	spinlock_t lock;	/* of what follows */
	struct list_head timelines;
	unsigned int sleepers;
	struct delayed_work recheck_work;
	bool more;
};

/**
 * struct sidra_timeline - timeline of a queue: its state page, epochs, waiters and interrupts
 * @vector: vector of its interrupts; constant, like @slot and @queue
 * @slot: number of the context on the chip
 * @queue: number of the queue in the context
 * @state: the state page
 * @epochs: the epoch that runs and those that have ended
 * @link: in sidra_vector.timelines; protected by sidra_vector.lock, like the next five fields
 * @waiters: struct sidra_waiter by epoch and value
 * @reqs: struct sidra_uring_req in ring order, so ordered by value
 * @req_slots: of a kernel queue: the same by ring slot of the last packet; NULL where no
 *                 command ends
 * @attached: the queue still owns its number on the chip
 * @programmed: value that the chip was armed for last; 0: none, or the chip has to be armed again
 * @req_mask: size of @req_slots - 1; constant
 * @patience: timer; when it expires, patient waiters no longer wait for an interrupt that they
 *            share
 * @poll_misses: consecutive polls of sidra_uring_req_poll() that found nothing; used without a
 *               lock, like @poll_skip: a race only changes how often it polls
 * @poll_skip: number of polls to leave out
 */
struct sidra_timeline {
	struct sidra_vector *vector;
	u32 slot, queue;
	struct sidra_queue_state *state;
	struct sidra_epochs epochs;
	struct list_head link;
	struct rb_root_cached waiters;
	struct list_head reqs;
	struct sidra_uring_req **req_slots;
	u64 req_mask;
	bool attached;
	u64 programmed;
	struct hrtimer patience;
	unsigned int poll_misses, poll_skip;
};

/**
 * struct sidra_waiter - a waiter for a point of a timeline
 * @node: in sidra_timeline.waiters
 * @value: timeline value
 * @epoch: epoch that @value belongs to
 * @queued: it is in sidra_timeline.waiters
 * @sleeper: counts in sidra_vector.sleepers
 * @patient: may share an interrupt with others, and so be woken up to BATCH_NS late
 * @fire: called once, under sidra_vector.lock, when the timeline has reached @value, or the queue
 *        was reset, has stopped or was destroyed. The callee then owns the struct
 */
struct sidra_waiter {
	struct rb_node node;
	u64 value;
	u32 epoch;
	bool queued;
	bool sleeper;
	bool patient;
	void (*fire)(struct sidra_waiter *waiter);
};

/**
 * struct sidra_uring_req - a request of io_uring that waits until its packets retire; part of the
 * command, so that a submit allocates no memory
 * @link: in sidra_timeline.reqs; afterwards in a list of requests that complete together
 * @value: ring index behind its last packet
 * @timeline: the timeline while it is in sidra_timeline.reqs; protected by sidra_vector.lock, and
 *            by RCU from being freed
 * @result: result of the request, 0 or -errno, once it has left sidra_timeline.reqs; never looks
 *          like a @timeline
 */
struct sidra_uring_req {
	struct list_head link;
	u64 value;
	union {
		struct sidra_timeline *timeline;
		long result;
	};
};

static inline u64 sidra_timeline_value(const struct sidra_timeline *timeline)
{
	/* Output data of the packets is visible after it */
	return le64_to_cpu(smp_load_acquire(&timeline->state->timeline));
}

static inline u32 sidra_timeline_run_state(const struct sidra_timeline *timeline)
{
	/* The fault record is complete after it */
	return le32_to_cpu(smp_load_acquire(&timeline->state->run_state));
}

/* Whether the timeline can advance no further without a reset of the queue. */
static inline bool sidra_timeline_stopped(const struct sidra_timeline *timeline)
{
	u32 now = sidra_timeline_run_state(timeline);

	return now == SIDRA_QUEUE_FAULTED || now == SIDRA_QUEUE_LOST;
}

/* First, before queues can have one: needs no hardware. */
void sidra_vectors_init(struct sidra_device *sdev);
/*
 * 0: the point of the timeline was reached; -EINPROGRESS: not yet; -EIO: the queue stopped before
 * it; -ECANCELED: it was dropped, or its epoch ended too long ago to be known.
 */
int sidra_timeline_check(struct sidra_timeline *timeline, u32 epoch, u64 value);
/*
 * Begins another epoch. In the one that ends, packets before @retired have retired; its waiters are
 * due, and sidra_timeline_continue() wakes them. The chip does not write the state page before
 * that.
 */
void sidra_timeline_begin_epoch(struct sidra_timeline *timeline, u32 epoch, u64 retired);
/*
 * Wakes all waiters of the former epoch, whose last packet is before @start, and lets the timeline
 * continue there. There may be many, so no lock should be held. May sleep.
 */
void sidra_timeline_continue(struct sidra_timeline *timeline, u64 start);
int sidra_irq_init(struct sidra_device *sdev);
struct sidra_vector *sidra_irq_vector(struct sidra_device *sdev, unsigned int spread);
/* Frees the interrupts and ends periodic checks; every timeline has been detached. */
void sidra_irq_stop(struct sidra_device *sdev);
/* Whether there are waiters that rely on interrupts. */
bool sidra_irq_sleepers(const struct sidra_device *sdev);

/* Sets sidra_device.stopped. On return nobody arms the chip any more. */
void sidra_irq_hold(struct sidra_device *sdev);
/* Clears it, and arms the chip for all waiters again after its reset. */
void sidra_irq_resume(struct sidra_device *sdev);

/* The caller sets @state, and @req_slots and @req_mask for a kernel queue. */
void sidra_timeline_init(struct sidra_timeline *timeline, struct sidra_vector *vector, u32 slot,
			 u32 queue);
/* Whoever frees the timeline has to wait for an RCU grace period, see sidra_uring_req_del(). */
void sidra_timeline_attach(struct sidra_device *sdev, struct sidra_timeline *timeline);
/* Wakes all waiters. Afterwards another queue may get the number on the chip. May sleep. */
void sidra_timeline_detach(struct sidra_device *sdev, struct sidra_timeline *timeline);
/*
 * The queue has stopped, or a new epoch has begun: wakes all waiters of a point that it will not
 * reach. May sleep.
 */
void sidra_timeline_wake(struct sidra_device *sdev, struct sidra_timeline *timeline);

/* The chip will load the queue again, and is armed for nothing: arms it for the waiters. */
void sidra_timeline_loaded(struct sidra_device *sdev, struct sidra_timeline *timeline);

/*
 * Adds a waiter; calls @fire before it returns if the value was reached, the epoch has ended, or
 * the timeline is not attached.
 */
void sidra_waiter_add(struct sidra_device *sdev, struct sidra_timeline *timeline,
		      struct sidra_waiter *waiter);
/*
 * Removes a waiter. Returns whether it was still queued; then the caller owns it again, and @fire
 * is not called.
 */
bool sidra_waiter_del(struct sidra_device *sdev, struct sidra_timeline *timeline,
		      struct sidra_waiter *waiter);
/*
 * Removes and returns a waiter for this value of the current epoch that has this @fire; NULL: there
 * is none.
 */
struct sidra_waiter *sidra_waiter_take(struct sidra_device *sdev, struct sidra_timeline *timeline,
				       u64 value, void (*fire)(struct sidra_waiter *waiter));

/* Adds a request; false if the timeline is not attached, as nothing would complete the request. */
bool sidra_uring_req_add(struct sidra_device *sdev, struct sidra_timeline *timeline,
			 struct sidra_uring_req *req);
/* Removes a request. Returns whether it was still queued; then the caller completes it. */
bool sidra_uring_req_del(struct sidra_uring_req *req);
/* Removes and returns the request that waits for this value; NULL: there is none. */
struct sidra_uring_req *sidra_uring_req_take(struct sidra_device *sdev,
					     struct sidra_timeline *timeline, u64 value);
/*
 * Polls the timeline for about as long as an interrupt would take, so that short packets need none;
 * less often after polls that found nothing. Called before sidra_uring_req_arm(), by a task that
 * can be preempted.
 */
void sidra_uring_req_poll(struct sidra_timeline *timeline, u64 value);
/* Arms the chip for requests, after the doorbell of their packets was rung. */
void sidra_uring_req_arm(struct sidra_device *sdev, struct sidra_timeline *timeline);

#endif
