// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "sidra_query.h"

#define VALID_FOR	HZ
#define TIMEOUT		HZ

static void sidra_query_work(struct work_struct *work)
{
	struct sidra_query *query = container_of(work, struct sidra_query, work);
	void *answer = kvzalloc(query->size_max, GFP_KERNEL);
	int result = -ENOMEM;
	u32 epoch;

	scoped_guard(mutex, &query->lock)
		epoch = query->epoch;
	if (answer)
		result = query->ask(query->sdev, answer);
	scoped_guard(mutex, &query->lock) {
		swap(query->answer, answer);
		query->result = result;
		query->time = jiffies;
		query->valid = epoch == query->epoch;
		query->busy = false;
		WRITE_ONCE(query->answers, query->answers + 1);
	}
	kvfree(answer);
	wake_up_interruptible_all(&query->answered);
}

void sidra_query_init(struct sidra_query *query, struct sidra_device *sdev, size_t size_max,
		      int (*ask)(struct sidra_device *sdev, void *answer))
{
	query->sdev = sdev;
	query->ask = ask;
	query->size_max = size_max;
	INIT_WORK(&query->work, sidra_query_work);
	init_waitqueue_head(&query->answered);
	mutex_init(&query->lock);
	query->open = true;
}

void sidra_query_end(struct sidra_query *query)
{
	scoped_guard(mutex, &query->lock)
		WRITE_ONCE(query->open, false);
	wake_up_interruptible_all(&query->answered);
	cancel_work_sync(&query->work);
	guard(mutex)(&query->lock);
	kvfree(query->answer);
	query->answer = NULL;
}

/*
 * Returns the current answer, or -EINPROGRESS if a newer one than number @answers is due, by @end.
 */
static ssize_t sidra_query_read_valid(struct sidra_query *query, void *to, loff_t offset,
				      size_t count, u32 *answers, unsigned long *end)
{
	guard(mutex)(&query->lock);
	if (!query->open)
		return -ENODEV;
	if (query->valid && time_before(jiffies, query->time + VALID_FOR))
		return query->result < 0 ? query->result :
		       memory_read_from_buffer(to, count, &offset, query->answer, query->result);
	if (!query->busy) {
		query->busy = true;
		query->wait_start = jiffies;
		queue_work(system_freezable_wq, &query->work);
	}
	*answers = query->answers;
	*end = query->wait_start + TIMEOUT;
	return -EINPROGRESS;
}

ssize_t sidra_query_read(struct sidra_query *query, void *to, loff_t offset, size_t count)
{
	unsigned long end;
	ssize_t ret;
	u32 answers;
	long left;

	for (;;) {
		ret = sidra_query_read_valid(query, to, offset, count, &answers, &end);
		if (ret != -EINPROGRESS)
			return ret;
		left = max_t(long, end - jiffies, 0);
		left = wait_event_interruptible_timeout(query->answered,
							READ_ONCE(query->answers) != answers ||
							!READ_ONCE(query->open), left);
		if (left <= 0)
			return left ?: -ETIMEDOUT;
	}
}

int sidra_query_get(struct sidra_query *query, void *to)
{
	ssize_t bytes = sidra_query_read(query, to, 0, query->size_max);

	if (bytes < 0)
		return bytes;
	return bytes == query->size_max ? 0 : -EPROTO;
}

void sidra_query_forget(struct sidra_query *query)
{
	guard(mutex)(&query->lock);
	query->epoch++;
	query->valid = false;
}
