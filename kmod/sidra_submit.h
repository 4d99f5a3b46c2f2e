/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel queues: packets submitted by SUBMIT or uring_cmd, and jobs with fences. */
#ifndef __SIDRA_SUBMIT_H__
#define __SIDRA_SUBMIT_H__

#include <linux/types.h>

#include <sidra_accel.h>

struct file;
struct sidra_job;
struct sidra_queue;
struct sidra_uring_req;

void sidra_submit_init(struct sidra_queue *queue);
/* Ends all jobs with an error, and all work items. The chip no longer runs the queue. */
void sidra_submit_fini(struct sidra_queue *queue);
/*
 * Signals the fences of all unfinished jobs: with this error, unless they have retired. May sleep.
 */
void sidra_submit_fail(struct sidra_queue *queue, int error);
/* Whether a job has taken longer than it may. */
bool sidra_submit_late(struct sidra_queue *queue);
/*
 * Drops the packets that have not retired, fails their jobs with -ECANCELED, and begins another
 * epoch behind them; atomic with respect to concurrent submits. The chip no longer runs the queue.
 * Returns the ring index where the queue continues, and in @retired the timeline of the epoch that
 * ended.
 */
u64 sidra_submit_reset(struct sidra_queue *queue, u32 epoch, u64 *retired);
/*
 * The device has stopped, or is about to. On return nobody publishes packets of the queue until
 * sidra_submit_resume().
 */
void sidra_submit_hold(struct sidra_queue *queue);
/* Restarts the time limits of jobs, and publishes packets that became ready meanwhile. */
void sidra_submit_resume(struct sidra_queue *queue);

/* The first packet that is not allowed in kernel queues; @count if there is none. */
u32 sidra_submit_forbidden(const union sidra_cmd *packets, u32 count);
/*
 * Copies packets into the ring, and publishes them to the chip as far as fences allow: immediately,
 * or when the task is unplugged. Returns the point of the timeline at which they have retired in
 * @value and @epoch. The queue takes its own references to @job. @req may have been completed
 * when this returns. @file: that of an io_uring command, otherwise NULL. Does not sleep. -EBUSY:
 * the ring is full, and nothing was submitted; -EINVAL: they never fit.
 */
int sidra_submit_packets(struct sidra_queue *queue, const union sidra_cmd *packets, u32 count,
			 struct sidra_job *job, struct sidra_uring_req *req, struct file *file,
			 u64 *value, u32 *epoch);

#endif
