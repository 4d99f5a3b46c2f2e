/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A text for /sys/class/devcoredump with what the driver knew when it detected that something is
 * broken.
 */
#ifndef __SIDRA_COREDUMP_H__
#define __SIDRA_COREDUMP_H__

#include <linux/compiler_attributes.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue_types.h>

struct sidra_device;

/**
 * struct sidra_coredump - the next dump
 * @lock: protects @text and @length
 * @text: memory for it, allocated in advance: taking a dump needs no memory and no other lock
 * @length: length of a dump that was taken and not published yet
 * @work: publishes it, and allocates memory for the next one
 */
struct sidra_coredump {
	struct mutex lock;	/* of @text and @length */
	char *text;
	size_t length;
	struct work_struct work;
};

void sidra_coredump_init(struct sidra_device *sdev);
/* Removes published dumps; the driver is being unbound. */
void sidra_coredump_fini(struct sidra_device *sdev);

/*
 * Takes a dump before anything is reset; the caller holds sidra_device.reset_lock. Of several in a
 * row the first is kept, because the others are its consequences.
 */
void sidra_coredump(struct sidra_device *sdev, const char *cause, const char *format, ...)
	__printf(3, 4);

#endif
