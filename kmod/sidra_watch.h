/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_WATCH_H__
#define __SIDRA_WATCH_H__

#include <linux/types.h>

struct sidra_device;

/**
 * struct sidra_queue_watch - what the watchdog saw of a queue; under sidra_device.lock
 * @progress: of its state page
 * @looks: in a row that found work and no progress
 * @clock_start, @wall_start: device and wall time when that became suspicious
 */
struct sidra_queue_watch {
	u64 progress;
	unsigned int looks;
	u64 clock_start, wall_start;
};

void sidra_watch_init(struct sidra_device *sdev);
/* Goes on as long as there are queues; after one was made, under sidra_device.lock. */
void sidra_watch(struct sidra_device *sdev);
/* Somebody saw a reason; from anywhere in drm_dev_enter(). */
void sidra_watch_now(struct sidra_device *sdev);
/* When there are none any more, nor will be. */
void sidra_watch_stop(struct sidra_device *sdev);

#endif
