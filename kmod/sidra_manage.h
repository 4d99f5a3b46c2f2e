/* SPDX-License-Identifier: GPL-2.0-only */
/* What root asks of the firmware, and everybody may see of it: its slots and log, the clock, campaigns. */
#ifndef __SIDRA_MANAGE_H__
#define __SIDRA_MANAGE_H__

#include <linux/sysfs.h>

#include "sidra_question.h"

struct sidra_device;

/* Each is asked the firmware. */
struct sidra_manage {
	struct sidra_question slots, log, clock, campaign;
};

void sidra_manage_init(struct sidra_device *sdev);
/* The mailbox is closed by then: none of them waits for a reply. */
void sidra_manage_end(struct sidra_device *sdev);
/* It is another firmware, which knows nothing of what the last one was told. Sleeps. */
void sidra_manage_forget(struct sidra_device *sdev);

/* The newest of the firmware's log, at most SIDRA_MAILBOX_PAYLOAD bytes of text: those from @offset on, as sidra_question_read() has it. */
ssize_t sidra_manage_log(struct sidra_device *sdev, char *to, loff_t offset, size_t count);

/* Attributes of the node; without firmware there are none. */
extern const struct attribute_group sidra_manage_group;

#endif
