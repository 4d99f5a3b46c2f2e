/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What many may read and only the chip or its firmware knows. Whoever reads does not ask: a work item does, once a second at most, and he
 * waits a second at most for its answer, under no lock, and can be interrupted. Neither a firmware that hangs nor a crowd of readers costs
 * more than that.
 */
#ifndef __SIDRA_QUESTION_H__
#define __SIDRA_QUESTION_H__

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct sidra_device;

/**
 * struct sidra_question - what follows @lock is protected by it
 * @ask: sleeps, for some seconds at most: bytes of the answer, or -errno
 * @room: bytes of the longest answer
 * @told: there is another answer
 * @answer: @result bytes; or @result says why there is none
 * @time: jiffies when it came
 * @asked: jiffies when somebody began to wait for the next one
 * @rounds: answers so far
 * @epoch: moves when what was known holds no more
 * @known: @result is of this epoch
 * @busy: the next answer is on its way
 * @open: it may be asked
 */
struct sidra_question {
	struct sidra_device *sdev;
	int (*ask)(struct sidra_device *sdev, void *answer);
	size_t room;
	struct work_struct work;
	wait_queue_head_t told;
	struct mutex lock;
	void *answer;
	int result;
	unsigned long time, asked;
	u32 rounds, epoch;
	bool known, busy, open;
};

void sidra_question_init(struct sidra_question *question, struct sidra_device *sdev, size_t room,
			 int (*ask)(struct sidra_device *sdev, void *answer));
/* Afterwards it is not asked any more, and whoever waits or comes is told -ENODEV. */
void sidra_question_end(struct sidra_question *question);

/*
 * Bytes of the answer from @offset on, at most @count, or -errno: of @ask, or -ETIMEDOUT, -ERESTARTSYS, -ENODEV. It is not older than a
 * second.
 */
ssize_t sidra_question_read(struct sidra_question *question, void *to, loff_t offset, size_t count);
/* An answer of @room bytes: 0 or -errno. */
int sidra_question_get(struct sidra_question *question, void *to);
/* What it was told so far holds no more. Sleeps. */
void sidra_question_forget(struct sidra_question *question);

#endif
