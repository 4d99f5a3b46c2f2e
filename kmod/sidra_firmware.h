/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to the chip's firmware. Nothing waits for it: it boots after the driver has
 * started, and may never run.
 */
#ifndef __SIDRA_FIRMWARE_H__
#define __SIDRA_FIRMWARE_H__

#include <linux/mutex.h>
#include <linux/sprintf.h>
#include <linux/types.h>
#include <linux/workqueue_types.h>

struct sidra_device;

/**
 * struct sidra_firmware - state of the connection
 * @work: connects, and talks to the firmware
 * @patience: until when the firmware may start, in jiffies
 * @version: major << 24 | minor << 16 | patch of the running firmware; 0: not connected
 * @security_version: its security version
 * @logged: the @version that was last logged
 * @restarted: an interrupt reported a panic or a restart
 * @panicked: it panicked, and its dump has not been fetched
 * @panic_code: the code of the panic; 0: unknown
 * @offered: the image on disk was offered to it once
 * @update_lock: serialises updates
 */
struct sidra_firmware {
	struct delayed_work work;
	unsigned long patience;
	u32 version;
	u32 security_version;
	u32 logged;
	bool restarted;
	bool panicked;
	u32 panic_code;
	bool offered;
	struct mutex update_lock;	/* one update at a time */
};

void sidra_firmware_init(struct sidra_device *sdev);
/*
 * Called at the end of probe and at the beginning of remove. After end() nothing of it runs or
 * accesses the chip.
 */
void sidra_firmware_begin(struct sidra_device *sdev);
void sidra_firmware_end(struct sidra_device *sdev);

/* The firmware is starting: connects to it. In any context. */
void sidra_firmware_connect(struct sidra_device *sdev);
/* Handles SIDRA_INT_FIRMWARE: connects again, and logs the reason. */
void sidra_firmware_restarted(struct sidra_device *sdev);

/**
 * struct sidra_version_text - a version of firmware or driver, for people
 * @text: major.minor.patch
 */
struct sidra_version_text {
	char text[16];
};

static inline struct sidra_version_text sidra_version_text(u32 version)
{
	struct sidra_version_text result;

	snprintf(result.text, sizeof(result.text), "%u.%u.%u", version >> 24, version >> 16 & 0xff,
		 version & 0xffff);
	return result;
}

#endif
