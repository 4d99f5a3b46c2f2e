/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_WATCH_H__
#define __SIDRA_WATCH_H__

#include "sidra_device.h"

#define SIDRA_WATCH_PERIOD_MS	250

/**
 * struct sidra_queue_watch - the watchdog's data about a queue; protected by sidra_ctx.lock
 * @progress: last value of its state page
 * @stalled_checks: consecutive checks that found work and no progress
 * @clock_start: device time when that became suspicious
 * @wall_start: wall time at that moment
 */
struct sidra_queue_watch {
	u64 progress;
	unsigned int stalled_checks;
	u64 clock_start, wall_start;
};

void sidra_watch_init(struct sidra_device *sdev);
/* Starts the watchdog after a queue was created; it runs as long as there are queues. */
static inline void sidra_watch(struct sidra_device *sdev)
{
	if (atomic_read(&sdev->queue_count))
		queue_delayed_work(sdev->wq, &sdev->watch_work,
				   msecs_to_jiffies(SIDRA_WATCH_PERIOD_MS));
}

/* Runs a check now; in any context, while there are queues. */
static inline void sidra_watch_now(struct sidra_device *sdev)
{
	mod_delayed_work(sdev->wq, &sdev->watch_work, 0);
}

/* Stops it when there are no queues and will be none. */
void sidra_watch_stop(struct sidra_device *sdev);

#endif
