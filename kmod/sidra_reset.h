/* SPDX-License-Identifier: GPL-2.0-only */
/* Reset of the chip alone; contexts and queues are sidra_recovery.h's. */
#ifndef __SIDRA_RESET_H__
#define __SIDRA_RESET_H__

#include <linux/types.h>

struct sidra_device;

#define SIDRA_RESET_TIMEOUT_MS	2000

/*
 * Disables bus mastering, so that no DMA reaches memory, and resets the chip. Returns whether it
 * became ready. The caller holds sidra_device.master_lock.
 */
bool sidra_reset_chip(struct sidra_device *sdev);

/*
 * For a chip that does not do what it was told, and for a fence whose job should have ended long
 * ago, while somebody who may wait for that fence holds a lock of the driver: takes only locks that
 * a fence may depend on. Afterwards no DMA of the chip reaches memory, until the recovery that this
 * requests has reset the device.
 */
void sidra_isolate_device(struct sidra_device *sdev);

#endif
