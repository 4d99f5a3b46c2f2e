/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Uevents for resets. A work item sends them, so that a reset needs neither memory nor locks of the
 * driver core.
 */
#ifndef __SIDRA_EVENT_H__
#define __SIDRA_EVENT_H__

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/workqueue_types.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct sidra_device;

/**
 * struct sidra_events - events that were not sent yet; of several of a kind the latest
 * @lock: protects the rest
 * @on: the node exists
 * @reset: the cause of a reset of the device, or SIDRA_FAULT_NONE
 * @lost: contexts that were lost individually
 * @cause: cause of each
 * @work: sends them
 */
struct sidra_events {
	spinlock_t lock;	/* of what follows */
	bool on;
	u32 reset;
	DECLARE_BITMAP(lost, SIDRA_CONTEXTS_MAX);
	u8 cause[SIDRA_CONTEXTS_MAX];
	struct work_struct work;
};

void sidra_events_init(struct sidra_device *sdev);
/* Called after the node was created, and before it is removed. */
void sidra_events_begin(struct sidra_device *sdev);
void sidra_events_end(struct sidra_device *sdev);

/* The device is no longer held: sends what had to wait. */
void sidra_events_resume(struct sidra_device *sdev);

/* All contexts were lost, for this cause. */
void sidra_event_reset(struct sidra_device *sdev, enum sidra_fault_cause cause);
/* One context was lost individually. */
void sidra_event_context_lost(struct sidra_device *sdev, u32 context, enum sidra_fault_cause cause);

#endif
