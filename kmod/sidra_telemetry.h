/* SPDX-License-Identifier: GPL-2.0-only */
/* The chip's telemetry page: registers that work whatever the firmware does. */
#ifndef __SIDRA_TELEMETRY_H__
#define __SIDRA_TELEMETRY_H__

#include <linux/mutex.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct sidra_device;

/**
 * struct sidra_telemetry_cache - the page as unprivileged readers see it
 * @lock: protects the rest, and serialises readings of the chip's page: its first word takes the
 *        snapshot that the others return
 * @page: latest reading
 * @result: 0, or the error of the latest reading
 * @window: jiffies at the start of the interval for @reads
 * @reads: number of readings in that interval
 */
struct sidra_telemetry_cache {
	struct mutex lock;	/* of what follows */
	struct sidra_telemetry page;
	int result;
	unsigned long window;
	unsigned int reads;
};

/*
 * Whether registers may be read now, without a lock: 0; -EAGAIN while the device is held; -ENODEV.
 * Inside drm_dev_enter().
 */
int sidra_reachable(struct sidra_device *sdev);

/* Reads the register: 0, or an error as above. Needs no lock and never sleeps. */
int sidra_generation_read(struct sidra_device *sdev, u32 *generation);

/* Reads the whole page; fields beyond the chip's @size are zero. 0, or an error as above. */
int sidra_telemetry_read(struct sidra_device *sdev, struct sidra_telemetry *page);

int sidra_telemetry_init(struct sidra_device *sdev);
/*
 * The same for an attribute. Without @exact, the counters are up to 200 ms old, because finer ones
 * would reveal the work of other users. All such readers together cause at most ten readings a
 * second.
 */
int sidra_telemetry_show(struct sidra_device *sdev, struct sidra_telemetry *page, bool exact);
/*
 * Discards the cached page, so that a process that is notified of a change, or has made it, reads
 * the new state.
 */
void sidra_telemetry_renew(struct sidra_device *sdev);

#endif
