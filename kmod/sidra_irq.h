/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From MSI-X vectors to whoever waits. Each queue has a struct sidra_point. Waiters for a value of its timeline are in a
 * tree, commands by io_uring that wait for their packets in a list, and the chip is armed for the value of the next
 * interrupt. All of that is under the lock of the queue's vector, which interrupt handlers take: no more than FIRE_MAX
 * waiters are woken under one hold of it, and one who is looked for is found without a walk.
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

#include "sidra_epoch.h"

struct sidra_device;
struct sidra_pending;

/**
 * struct sidra_vector - an MSI-X vector and the queues whose interrupts it delivers
 * @number: 0 is for the device, the others are for queues
 * @cpu: where it is delivered, until somebody says otherwise
 * @lock: protects the rest, and what the points of its queues say is under it; taken in hard interrupts
 * @points: struct sidra_point of its queues
 * @sleepers: waiters that do not look again by themselves, as threads in WAIT do
 * @recheck_work: looks for them, as an interrupt may get lost; at once if @more
 * @more: waiters that are due were left over when FIRE_MAX had been woken
 */
struct sidra_vector {
	struct sidra_device *sdev;
	unsigned int number;
	unsigned int cpu;

	spinlock_t lock;
	struct list_head points;
	unsigned int sleepers;
	struct delayed_work recheck_work;
	bool more;
};

/**
 * struct sidra_point - the part of a queue that interrupts deal with
 * @vector: that its interrupts come by; constant, as @slot and @queue are
 * @slot, @queue: context and number on the chip
 * @state: the state page
 * @epochs: a reset begins another one: what was dropped does not look retired
 * @link: in sidra_vector.points; as the next five under sidra_vector.lock
 * @armed: struct sidra_arm by epoch and value
 * @limit: struct sidra_pending in the order of the ring, so by value
 * @pending_slots: the same by place in the ring, of a kernel queue: NULL where no command ends
 * @pending_mask: of these places; constant
 * @attached: the number on the chip is still this queue's
 * @programmed: what the chip was armed for last; 0: nothing, or it was not for @limit
 * @patience: after it patient waiters share no interrupt any more
 * @poll_misses, @poll_skip: of sidra_pending_poll(); a race costs a look more or less
 */
struct sidra_point {
	struct sidra_vector *vector;
	u32 slot, queue;
	struct sidra_queue_state *state;
	struct sidra_epochs epochs;
	struct list_head link;
	struct rb_root_cached armed;
	struct list_head pending;
	struct sidra_pending **pending_slots;
	u64 pending_mask;
	bool attached;
	u64 programmed;
	struct hrtimer patience;
	unsigned int poll_misses, poll_skip;
};

/**
 * struct sidra_arm - one who waits for a value
 * @value: of the timeline
 * @epoch: of the queue, when the wait began
 * @fire: called once, under sidra_vector.lock, when the timeline has reached @value or the queue was reset, has stopped or
 *        is gone. @arm is the callee's then
 * @sleeper: nobody looks again by himself: the driver does, now and then
 * @patient: an interrupt may be for a batch of them, and come a little later
 */
struct sidra_arm {
	struct rb_node node;
	u64 value;
	u32 epoch;
	bool armed;
	bool sleeper;
	bool patient;
	void (*fire)(struct sidra_arm *arm);
};

/**
 * struct sidra_pending - a command by io_uring that waits for its packets. It lies in the command, so that a submit takes
 * no memory
 * @link: in sidra_point.pending; then links those that end together
 * @value: index behind its last packet
 * @result: of the command, once it has left the line
 * @queued: under the lock of @vector, where @slot and @queue find the point then
 */
struct sidra_pending {
	struct list_head link;
	u64 value;
	s16 result;
	bool queued;
	u8 vector;
	u16 slot, queue;
};

static inline u64 sidra_point_timeline(const struct sidra_point *point)
{
	return smp_load_acquire(&point->state->timeline);	/* output data comes before it */
}

static inline u32 sidra_point_run_state(const struct sidra_point *point)
{
	return smp_load_acquire(&point->state->run_state);	/* the fault record comes before it */
}

/* It will not move any more by itself. */
static inline bool sidra_point_stopped(const struct sidra_point *point)
{
	u32 now = sidra_point_run_state(point);

	return now == SIDRA_QUEUE_FAULTED || now == SIDRA_QUEUE_LOST;
}

/* The part of sidra_irq_init() that needs no card. */
void sidra_vectors_init(struct sidra_device *sdev);
/*
 * 0: the point of the timeline was reached; -EINPROGRESS: not yet; -EIO: the queue stopped before; -ECANCELED: it was dropped, or
 * its epoch ended too long ago to be known.
 */
int sidra_point_check(struct sidra_point *point, u32 epoch, u64 value);
/* Another epoch begins at @start, and all who wait for the former one are woken. The state page is the driver's meanwhile. */
void sidra_point_begin_epoch(struct sidra_point *point, u32 epoch, u64 retired, u64 start);
int sidra_irq_init(struct sidra_device *sdev);
struct sidra_vector *sidra_irq_vector(struct sidra_device *sdev, unsigned int spread);
/* No look at any queue runs or comes any more. Every point has been detached. */
void sidra_irq_stop(struct sidra_device *sdev);
/* Whether anybody waits who does not look again by himself. */
bool sidra_irq_sleepers(const struct sidra_device *sdev);

/* Sets sidra_device.stopped: the chip is not armed any more. */
void sidra_irq_hold(struct sidra_device *sdev);
/* Clears it, and arms the chip for all who wait: it has forgotten them. */
void sidra_irq_resume(struct sidra_device *sdev);

/* The caller sets @state, and @pending_slots where there are to be any. */
void sidra_point_init(struct sidra_point *point, struct sidra_vector *vector, u32 slot, u32 queue);
void sidra_point_attach(struct sidra_device *sdev, struct sidra_point *point);
/* Fires all; its number on the chip may be another's afterwards. May sleep. */
void sidra_point_detach(struct sidra_device *sdev, struct sidra_point *point);
/* The queue has stopped, or its epoch has moved: fires all who wait in vain, and all commands in line. */
void sidra_point_wake(struct sidra_device *sdev, struct sidra_point *point);

/* The chip loads the queue anew: it is armed for nothing any more. */
void sidra_point_loaded(struct sidra_device *sdev, struct sidra_point *point);

/* At once if the value is reached or the point is not attached. */
void sidra_arm_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm);
/* Whether it was still armed: then it is the caller's again. */
bool sidra_arm_del(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm);
/* One that waits for this value of the current epoch and has this @fire becomes the caller's; NULL: there is none. */
struct sidra_arm *sidra_arm_take(struct sidra_device *sdev, struct sidra_point *point, u64 value,
				 void (*fire)(struct sidra_arm *arm));

/* At the end of the line; false: the point is not attached, nobody would ever end it. */
bool sidra_pending_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_pending *pending);
/* Whether it was still in line: then it is the caller's again. */
bool sidra_pending_del(struct sidra_device *sdev, struct sidra_pending *pending);
/* The one that waits for this value becomes the caller's; NULL: there is none. */
struct sidra_pending *sidra_pending_take(struct sidra_device *sdev, struct sidra_point *point, u64 value);
/*
 * Before sidra_pending_arm(), by a task that can be preempted: what ends at once needs neither arm nor interrupt. Looks at the
 * timeline for about as long as these would take, and seldom if that was in vain.
 */
void sidra_pending_poll(struct sidra_point *point, u64 value);
/* The chip has been told of packets: it is armed for the line, too. */
void sidra_pending_arm(struct sidra_device *sdev, struct sidra_point *point);

#endif
