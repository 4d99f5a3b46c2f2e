/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From MSI-X vectors to whoever waits. Each queue has a point; what is armed for it waits in order of value, commands
 * by io_uring stand in line, and the chip holds the value of the next interrupt.
 */
#ifndef __SIDRA_IRQ_H__
#define __SIDRA_IRQ_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rbtree_types.h>

#include <sidra_accel.h>

struct sidra_device;

/**
 * struct sidra_point - the part of a queue that interrupts deal with
 * @link: in sidra_device.points
 * @armed: struct sidra_arm by value; as the next three under irq_lock
 * @line: struct sidra_turn in the order of the ring, so by value, too
 * @attached: the number on the chip is still this queue's
 * @programmed: what the chip was armed for last; 0: nothing, or it was not for @line
 * @poll_misses, @poll_skip: of sidra_turns_poll(); a race costs a look more or less
 * @slot, @queue, @vector: where
 * @epoch: moves with each reset of the queue: what was waited for then will not come
 * @state: the state page
 */
struct sidra_point {
	struct list_head link;
	struct rb_root_cached armed;
	struct list_head line;
	bool attached;
	u64 programmed;
	unsigned int poll_misses, poll_skip;
	u32 slot, queue;
	unsigned int vector;
	atomic_t epoch;
	struct sidra_queue_state *state;
};

/**
 * struct sidra_arm - one who waits for a value
 * @fire: called once, under irq_lock, when the timeline has reached @value or the queue has stopped or gone. @arm is
 *        the callee's then
 * @sleeper: nobody looks again by himself: the driver does, now and then
 * @patient: an interrupt may be for a batch of them, and come a little later
 */
struct sidra_arm {
	struct rb_node node;
	u64 value;
	bool armed;
	bool sleeper;
	bool patient;
	void (*fire)(struct sidra_arm *arm);
};

/**
 * struct sidra_turn - a command by io_uring that waits for its packets. It lies in the command, so that a submit takes
 * no memory
 * @link: in sidra_point.line; then links those that end together
 * @value: index behind its last packet
 * @result: of the command, once it has left the line
 * @in_line: under irq_lock
 */
struct sidra_turn {
	struct list_head link;
	u64 value;
	int result;
	bool in_line;
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

/* What needs no card. */
void sidra_points_init(struct sidra_device *sdev);
int sidra_irq_init(struct sidra_device *sdev);
unsigned int sidra_irq_vector(const struct sidra_device *sdev, unsigned int spread);
/* No look at any queue runs or comes any more. */
void sidra_irq_stop(struct sidra_device *sdev);

/* Sets sidra_device.stopped: the chip is not armed any more. */
void sidra_irq_hold(struct sidra_device *sdev);
/* Clears it, and arms the chip for all who wait: it has forgotten them. */
void sidra_irq_go_on(struct sidra_device *sdev);

void sidra_point_attach(struct sidra_device *sdev, struct sidra_point *point);
/* Fires all; its number on the chip may be another's afterwards. */
void sidra_point_detach(struct sidra_device *sdev, struct sidra_point *point);
/* Fires all, whatever the timeline says. */
void sidra_point_wake(struct sidra_device *sdev, struct sidra_point *point);

/* The chip loads the queue anew: it is armed for nothing any more. */
void sidra_point_forgotten(struct sidra_device *sdev, struct sidra_point *point);

/* At once if the value is reached or the point is not attached. */
void sidra_arm_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm);
/* Whether it was still armed: then it is the caller's again. */
bool sidra_arm_del(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm);
bool sidra_arm_del_locked(struct sidra_device *sdev, struct sidra_point *point, struct sidra_arm *arm);

/* At the end of the line; false: the point is not attached, nobody would ever end it. */
bool sidra_turn_add(struct sidra_device *sdev, struct sidra_point *point, struct sidra_turn *turn);
/* Whether it was still in line: then it is the caller's again. */
bool sidra_turn_del(struct sidra_device *sdev, struct sidra_turn *turn);
bool sidra_turn_del_locked(struct sidra_device *sdev, struct sidra_turn *turn);
/*
 * Before sidra_turns_told(), by a task that can be preempted: what ends at once needs neither arm nor interrupt. Looks at the
 * timeline for about as long as these would take, and seldom if that was in vain.
 */
void sidra_turns_poll(struct sidra_point *point, u64 value);
/* The chip has been told of packets: it is armed for the line, too. */
void sidra_turns_told(struct sidra_device *sdev, struct sidra_point *point);

#endif
