/* SPDX-License-Identifier: GPL-2.0-only */
/* The chip's firmware, as the driver meets it. Nobody waits for it: it boots behind the driver, and may never come. */
#ifndef __SIDRA_FIRMWARE_H__
#define __SIDRA_FIRMWARE_H__

#include <linux/mutex.h>
#include <linux/sprintf.h>
#include <linux/types.h>
#include <linux/workqueue_types.h>

struct sidra_device;

/**
 * struct sidra_firmware - what is known of it
 * @work: looks for it, and speaks with it
 * @patience: jiffies until which it should have come
 * @version: major << 24 | minor << 16 | patch, of the one that runs; 0: none was met
 * @security_version: of the same
 * @told: @version that the log has
 * @happened: an interrupt said that it panicked, or was started anew
 * @panicked: with @panic_code (0: not known), and nobody has its dump yet
 * @offered: the image on the disk was offered to it, once
 * @update_lock: one update at a time
 */
struct sidra_firmware {
	struct delayed_work work;
	unsigned long patience;
	u32 version;
	u32 security_version;
	u32 told;
	bool happened;
	bool panicked;
	u32 panic_code;
	bool offered;
	struct mutex update_lock;
};

void sidra_firmware_init(struct sidra_device *sdev);
/* From the end of probe to the beginning of remove; behind end() nothing of it runs, nor asks the chip. */
void sidra_firmware_begin(struct sidra_device *sdev);
void sidra_firmware_end(struct sidra_device *sdev);

/* It starts, or has started: looks for it. From anywhere. */
void sidra_firmware_look(struct sidra_device *sdev);
/* SIDRA_INT_FIRMWARE: the same, and says why. */
void sidra_firmware_happened(struct sidra_device *sdev);

/* major.minor.patch, as text. */
struct sidra_version_text {
	char text[16];
};

static inline struct sidra_version_text sidra_version_text(u32 version)
{
	struct sidra_version_text result;

	snprintf(result.text, sizeof(result.text), "%u.%u.%u", version >> 24, version >> 16 & 0xff, version & 0xffff);
	return result;
}

#endif
