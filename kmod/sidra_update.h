/* SPDX-License-Identifier: GPL-2.0-only */
/* New firmware for the chip, by request_firmware(): stored in the slot that does not run, tried at the next reset. */
#ifndef __SIDRA_UPDATE_H__
#define __SIDRA_UPDATE_H__

#include <linux/types.h>

struct sidra_device;

/*
 * Sends the image, unless one of that version runs: 0, also then, or -errno, which docs/driver.md lists; the log says
 * why. Not @asked: by itself, once, when the firmware was met; it is silent about an image that there is not, and leaves one alone
 * that waits for its trial. It sleeps, and needs the firmware; no lock is to be held.
 */
int sidra_update(struct sidra_device *sdev, bool asked);

#endif
