/* SPDX-License-Identifier: GPL-2.0-only */
/* The chip's telemetry page: registers that answer whatever its firmware does. */
#ifndef __SIDRA_TELEMETRY_H__
#define __SIDRA_TELEMETRY_H__

#include <sidra_accel.h>

struct sidra_device;

/* What may be read of the chip right now, without a lock: 0; -EAGAIN while it is held; -ENODEV. Between drm_dev_enter() and _exit(). */
int sidra_reachable(struct sidra_device *sdev);

/* The register: 0, or as above. Needs no lock, and never sleeps. */
int sidra_generation_read(struct sidra_device *sdev, u32 *generation);

/* The whole page; what the chip's version of it lacks (behind @size) is zero. 0, or as above. Needs no lock, and never sleeps. */
int sidra_telemetry_read(struct sidra_device *sdev, struct sidra_telemetry *page);

#endif
