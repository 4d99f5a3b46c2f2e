/* SPDX-License-Identifier: GPL-2.0-only */
/* What the driver knew when it decided by itself that something is broken: a text for /sys/class/devcoredump. */
#ifndef __SIDRA_COREDUMP_H__
#define __SIDRA_COREDUMP_H__

#include <linux/compiler_attributes.h>
#include <linux/types.h>
#include <linux/workqueue_types.h>

struct sidra_device;

/**
 * struct sidra_coredump - the next dump; under sidra_device.lock
 * @text: memory for it: taking one needs none, nor a lock
 * @length: taken, and not handed over yet
 * @work: hands it over, and gets memory for another one
 */
struct sidra_coredump {
	char *text;
	size_t length;
	struct work_struct work;
};

void sidra_coredump_init(struct sidra_device *sdev);
/* Nothing is left for others to read: the driver goes. */
void sidra_coredump_fini(struct sidra_device *sdev);

/*
 * Takes a dump, before anything is reset, under sidra_device.lock. Of several in a row the first one is kept: what
 * follows is its consequence.
 */
void sidra_coredump(struct sidra_device *sdev, const char *cause, const char *format, ...) __printf(3, 4);

#endif
