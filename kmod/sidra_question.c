// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "sidra_question.h"

#define GOOD_FOR	HZ
#define PATIENCE	HZ

static void question_work(struct work_struct *work)
{
	struct sidra_question *question = container_of(work, struct sidra_question, work);
	void *answer = kvzalloc(question->room, GFP_KERNEL);
	int result = -ENOMEM;
	u32 epoch;

	scoped_guard(mutex, &question->lock)
		epoch = question->epoch;
	if (answer)
		result = question->ask(question->sdev, answer);
	scoped_guard(mutex, &question->lock) {
		swap(question->answer, answer);
		question->result = result;
		question->time = jiffies;
		question->known = epoch == question->epoch;
		question->busy = false;
		WRITE_ONCE(question->rounds, question->rounds + 1);
	}
	kvfree(answer);
	wake_up_interruptible_all(&question->told);
}

void sidra_question_init(struct sidra_question *question, struct sidra_device *sdev, size_t room,
			 int (*ask)(struct sidra_device *sdev, void *answer))
{
	question->sdev = sdev;
	question->ask = ask;
	question->room = room;
	INIT_WORK(&question->work, question_work);
	init_waitqueue_head(&question->told);
	mutex_init(&question->lock);
	question->open = true;
}

void sidra_question_end(struct sidra_question *question)
{
	scoped_guard(mutex, &question->lock)
		WRITE_ONCE(question->open, false);
	wake_up_interruptible_all(&question->told);
	cancel_work_sync(&question->work);
	guard(mutex)(&question->lock);
	kvfree(question->answer);
	question->answer = NULL;
}

/* Returns the current answer, or -EINPROGRESS if a newer one than number @rounds is due, by @end. */
static ssize_t read_known(struct sidra_question *question, void *to, loff_t offset, size_t count, u32 *rounds,
			  unsigned long *end)
{
	guard(mutex)(&question->lock);
	if (!question->open)
		return -ENODEV;
	if (question->known && time_before(jiffies, question->time + GOOD_FOR))
		return question->result < 0 ? question->result :
		       memory_read_from_buffer(to, count, &offset, question->answer, question->result);
	if (!question->busy) {
		question->busy = true;
		question->asked = jiffies;
		queue_work(system_freezable_wq, &question->work);
	}
	*rounds = question->rounds;
	*end = question->asked + PATIENCE;
	return -EINPROGRESS;
}

ssize_t sidra_question_read(struct sidra_question *question, void *to, loff_t offset, size_t count)
{
	unsigned long end;
	ssize_t ret;
	u32 rounds;
	long left;

	for (;;) {
		ret = read_known(question, to, offset, count, &rounds, &end);
		if (ret != -EINPROGRESS)
			return ret;
		left = max_t(long, end - jiffies, 0);
		left = wait_event_interruptible_timeout(question->told,
							READ_ONCE(question->rounds) != rounds || !READ_ONCE(question->open), left);
		if (left <= 0)
			return left ?: -ETIMEDOUT;
	}
}

int sidra_question_get(struct sidra_question *question, void *to)
{
	ssize_t bytes = sidra_question_read(question, to, 0, question->room);

	if (bytes < 0)
		return bytes;
	return bytes == question->room ? 0 : -EPROTO;
}

void sidra_question_forget(struct sidra_question *question)
{
	guard(mutex)(&question->lock);
	question->epoch++;
	question->known = false;
}
