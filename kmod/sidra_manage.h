/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Management of the firmware, by root, and its state, for everybody: slots, log, clock, campaigns.
 */
#ifndef __SIDRA_MANAGE_H__
#define __SIDRA_MANAGE_H__

#include <linux/sysfs.h>

#include "sidra_query.h"

struct sidra_device;

/**
 * struct sidra_manage - cached queries to the firmware
 * @slots: the images in its slots
 * @log: its log
 * @clock: the clock of the compute units
 * @campaign: the campaign that corrects drift
 */
struct sidra_manage {
	struct sidra_query slots, log, clock, campaign;
};

void sidra_manage_init(struct sidra_device *sdev);
/* Called after the mailbox was closed, so none of them waits for a reply. */
void sidra_manage_end(struct sidra_device *sdev);
/* Discards cached answers after the firmware has restarted and lost its settings. Sleeps. */
void sidra_manage_forget(struct sidra_device *sdev);

/*
 * Reads the newest part of the firmware's log, at most SIDRA_MAILBOX_PAYLOAD bytes of text, like
 * sidra_query_read().
 */
ssize_t sidra_manage_log(struct sidra_device *sdev, char *to, loff_t offset, size_t count);

/* Attributes of the node; absent if the chip has no firmware. */
extern const struct attribute_group sidra_manage_group;

#endif
