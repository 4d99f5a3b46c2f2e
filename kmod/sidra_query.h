/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cached query: data that many may read and only the chip or its firmware has. Readers do not
 * query it themselves. A work item does, at most once a second, and a reader waits for its answer
 * at most one second, without a lock, and can be interrupted. So neither a firmware that hangs nor
 * a crowd of readers costs more than that.
 */
#ifndef __SIDRA_QUERY_H__
#define __SIDRA_QUERY_H__

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct sidra_device;

/**
 * struct sidra_query - a cached query
 * @sdev: the device
 * @ask: performs the query, and sleeps for some seconds at most; returns the length of the answer
 *       or -errno
 * @size_max: length of the longest answer in bytes
 * @work: calls @ask
 * @answered: wakes readers when there is a new answer
 * @lock: protects the fields below it
 * @answer: the answer, @result bytes long
 * @result: length of the answer, or the error
 * @time: jiffies when it arrived
 * @wait_start: jiffies when a reader began to wait for the next one
 * @answers: number of answers so far
 * @epoch: incremented when earlier answers become invalid
 * @valid: @result belongs to this epoch
 * @busy: a query is in progress
 * @open: queries are allowed
 */
struct sidra_query {
	struct sidra_device *sdev;
	int (*ask)(struct sidra_device *sdev, void *answer);
	size_t size_max;
	struct work_struct work;
	wait_queue_head_t answered;
	struct mutex lock;	/* of what follows */
	void *answer;
	int result;
	unsigned long time, wait_start;
	u32 answers, epoch;
	bool valid, busy, open;
};

void sidra_query_init(struct sidra_query *query, struct sidra_device *sdev, size_t size_max,
		      int (*ask)(struct sidra_device *sdev, void *answer));
/* Ends all queries: waiting and later readers get -ENODEV. */
void sidra_query_end(struct sidra_query *query);

/*
 * Copies at most @count bytes of an answer that is at most a second old, beginning at @offset.
 * Returns the number of bytes or -errno: that of @ask, or -ETIMEDOUT, -ERESTARTSYS, -ENODEV.
 */
ssize_t sidra_query_read(struct sidra_query *query, void *to, loff_t offset, size_t count);
/* Reads an answer of exactly @size_max bytes: 0 or -errno. */
int sidra_query_get(struct sidra_query *query, void *to);
/* Invalidates the cached answer. Sleeps. */
void sidra_query_forget(struct sidra_query *query);

#endif
