/* SPDX-License-Identifier: GPL-2.0-only */
/* What runs in kernel queues: packets by SUBMIT or uring_cmd, with fences. */
#ifndef __SIDRA_SUBMIT_H__
#define __SIDRA_SUBMIT_H__

#include <linux/types.h>

#include <sidra_accel.h>

struct sidra_job;
struct sidra_queue;
struct sidra_pending;

void sidra_submit_init(struct sidra_queue *queue);
/* The queue is gone for the chip: its jobs end with an error, no work of it starts any more. */
void sidra_submit_fini(struct sidra_queue *queue);
/* All jobs that have not ended end with this error. */
void sidra_submit_fail(struct sidra_queue *queue, int error);
/* A job has missed its deadline. */
bool sidra_submit_late(struct sidra_queue *queue);
/*
 * Drops what was submitted and has not retired: its jobs end with -ECANCELED, and another epoch begins behind it, in one step for who submits
 * meanwhile. Where the queue goes on; @retired: the timeline of the epoch that ended. The chip has forgotten the queue.
 */
u64 sidra_submit_reset(struct sidra_queue *queue, u32 epoch, u64 *retired);
/* The device has stopped: no doorbell of the queue is rung any more, until it goes on. */
void sidra_submit_hold(struct sidra_queue *queue);
/* It does: jobs get their time anew, and the chip is told what became ready meanwhile. */
void sidra_submit_resume(struct sidra_queue *queue);

/* -EINVAL if a packet is not for kernel queues. */
int sidra_submit_check(const union sidra_cmd *packets, u32 count);
/*
 * Copies packets into the ring and tells the chip as far as fences allow: now, or when the task is unplugged. Does not
 * sleep.
 * -EBUSY: the ring is full, nothing was submitted. The queue takes references of its own to @job. @pending gets into line;
 * it may have been ended when this returns. @value is of @epoch.
 */
int sidra_submit_packets(struct sidra_queue *queue, const union sidra_cmd *packets, u32 count, struct sidra_job *job,
			 struct sidra_pending *pending, u64 *value, u32 *epoch);

#endif
