/* SPDX-License-Identifier: GPL-2.0-only */
/* New firmware for the chip, by request_firmware(): stored in the slot that does not run, tried at the next reset. */
#ifndef __SIDRA_UPDATE_H__
#define __SIDRA_UPDATE_H__

#include <linux/types.h>

struct sidra_device;

#define SIDRA_SLOT_A		0u
#define SIDRA_SLOT_B		1u
#define SIDRA_SLOT_RECOVERY	2u
#define SIDRA_SLOT_NONE		(~0u)

/**
 * struct sidra_slots - what the firmware says of its slots, of which it may say anything
 * @active: the one that starts
 * @trial: the one that is tried, or will be at the next start
 * @running: the one that runs, as @version
 * @failed: the one whose trial failed
 * @starts: of the one that runs, without a word from it that it is well
 * @lowest: security version that may run
 */
struct sidra_slots {
	u32 active, trial, failed, running;
	u32 starts;
	u32 version, lowest;
};

/* 0 or -errno. */
int sidra_slots_ask(struct sidra_device *sdev, struct sidra_slots *slots);
/* The image of the slot that does not run is tried at the next start: which slot, or -errno; -ENODATA: there is none that could. */
int sidra_slots_activate(struct sidra_device *sdev, u32 *slot);

/*
 * Sends the image, unless one of that version runs: 0, also then, or -errno, which docs/driver.md lists; the log says
 * why. Not @asked: by itself, once, when the firmware was met; it is silent about an image that there is not, and leaves one alone
 * that waits for its trial. It sleeps, and needs the firmware; no lock is to be held.
 */
int sidra_update(struct sidra_device *sdev, bool asked);

#endif
