/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Firmware updates: an image from request_firmware() is stored in the slot that does not run, and
 * tried at the next reset.
 */
#ifndef __SIDRA_UPDATE_H__
#define __SIDRA_UPDATE_H__

#include <linux/types.h>

struct sidra_device;

#define SIDRA_SLOT_A		0u
#define SIDRA_SLOT_B		1u
#define SIDRA_SLOT_RECOVERY	2u
#define SIDRA_SLOT_NONE		(~0u)

/**
 * struct sidra_slots - the firmware's answer about its slots; it is not trusted, and may have any
 * value
 * @active: the slot that the chip starts
 * @trial: the slot that is on trial, or will be at the next start
 * @running: the slot that runs
 * @version: its version
 * @failed: the slot whose trial failed
 * @starts: number of starts of the running slot since its firmware last confirmed itself
 * @lowest: lowest security version that may run
 */
struct sidra_slots {
	u32 active, trial, failed, running;
	u32 starts;
	u32 version, lowest;
};

/* 0 or -errno. */
int sidra_slots_ask(struct sidra_device *sdev, struct sidra_slots *slots);
/*
 * Selects the image of the slot that does not run for a trial at the next start. Returns 0 and the
 * slot, or -errno; -ENODATA: that slot has no valid image.
 */
int sidra_slots_activate(struct sidra_device *sdev, u32 *slot);

/*
 * Sends the image to the chip, unless it is running already. Returns 0, also in that case, or
 * -errno; the reason is logged. Without @asked, the driver does so on its own after the firmware
 * was connected: then a missing image is no error to log, and an image that waits for its trial is
 * kept. Sleeps; the caller holds no lock.
 */
int sidra_update(struct sidra_device *sdev, bool asked);

#endif
