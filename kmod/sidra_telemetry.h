/* SPDX-License-Identifier: GPL-2.0-only */
/* The chip's telemetry page: registers that answer whatever its firmware does. */
#ifndef __SIDRA_TELEMETRY_H__
#define __SIDRA_TELEMETRY_H__

#include <linux/mutex.h>

#include <sidra_accel.h>

struct sidra_device;

/**
 * struct sidra_telemetry_cache - what is shown to who may not look at others' work more closely
 * @lock: protects the rest, and the chip's page while it is read: its first word says what the others show
 * @page, @result: of the latest reading: 0, or why there is none
 * @window: jiffies when the time began in which @reads readings were made
 */
struct sidra_telemetry_cache {
	struct mutex lock;
	struct sidra_telemetry page;
	int result;
	unsigned long window;
	unsigned int reads;
};

/* What may be read of the chip right now, without a lock: 0; -EAGAIN while it is held; -ENODEV. Between drm_dev_enter() and _exit(). */
int sidra_reachable(struct sidra_device *sdev);

/* The register: 0, or as above. Needs no lock, and never sleeps. */
int sidra_generation_read(struct sidra_device *sdev, u32 *generation);

/* The whole page; what the chip's version of it lacks (behind @size) is zero. 0, or as above. */
int sidra_telemetry_read(struct sidra_device *sdev, struct sidra_telemetry *page);

int sidra_telemetry_init(struct sidra_device *sdev);
/*
 * The same for an attribute: @exact, or else for everybody, with counters that are up to a fifth of a second old, since finer ones tell how
 * strangers' work goes. However many read, they cost ten readings a second.
 */
int sidra_telemetry_show(struct sidra_device *sdev, struct sidra_telemetry *page, bool exact);
/* Nobody is shown a page from before, whatever others have read: for those who are told that something is different now. */
void sidra_telemetry_renew(struct sidra_device *sdev);

#endif
