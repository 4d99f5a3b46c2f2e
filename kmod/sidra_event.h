/* SPDX-License-Identifier: GPL-2.0-only */
/* What udev is told of resets (docs/driver.md): by a work item, so that whoever resets waits for no memory and for no lock of the core's. */
#ifndef __SIDRA_EVENT_H__
#define __SIDRA_EVENT_H__

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/workqueue_types.h>

#include <sidra_accel.h>

struct sidra_device;

/**
 * struct sidra_events - what nobody was told of yet; of several of a kind the latest
 * @lock: protects the rest
 * @on: the node is there
 * @reset: the cause of a reset of the device, or SIDRA_FAULT_NONE
 * @lost: contexts that were lost, each alone
 * @cause: of each
 */
struct sidra_events {
	spinlock_t lock;
	bool on;
	u32 reset;
	DECLARE_BITMAP(lost, SIDRA_CONTEXTS_MAX);
	u8 cause[SIDRA_CONTEXTS_MAX];
	struct work_struct work;
};

void sidra_events_init(struct sidra_device *sdev);
/* While the node is there. */
void sidra_events_begin(struct sidra_device *sdev);
void sidra_events_end(struct sidra_device *sdev);

/* The device is held no more: what could not be told meanwhile is told. */
void sidra_events_go_on(struct sidra_device *sdev);

/* All contexts are lost, with this cause. */
void sidra_event_reset(struct sidra_device *sdev, enum sidra_fault_cause cause);
/* That one alone. */
void sidra_event_context_lost(struct sidra_device *sdev, u32 context, enum sidra_fault_cause cause);

#endif
