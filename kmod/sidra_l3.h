/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_L3_H__
#define __SIDRA_L3_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "sidra_range.h"

struct sidra_device;

/* A part of L3 that somebody has, or that waits to be zeroed. */
struct sidra_l3_part {
	struct list_head link;
	u64 offset, size;
};

/**
 * struct sidra_l3 - who has which pages of the SRAM
 * @free: zeroed and free; under sidra_device.lock
 * @dirty: given back, and not zeroed yet
 * @dirty_bytes: of all in @dirty
 * @clean_work: zeroes them
 * @base, @size: BAR2; what of it is L3
 * @hidden: mappings show other pages instead; under sidra_device.map_lock
 */
struct sidra_l3 {
	struct sidra_range free;
	/* Protects @dirty, @dirty_bytes. */
	spinlock_t lock;
	struct list_head dirty;
	u64 dirty_bytes;
	struct work_struct clean_work;
	phys_addr_t base;
	u64 size;
	bool hidden;
};

int sidra_l3_init(struct sidra_device *sdev);

/* Under sidra_device.lock: zeroed pages; -ENOSPC, -ENOMEM. */
struct sidra_l3_part *sidra_l3_alloc(struct sidra_device *sdev, u64 size);
/* From anywhere; nobody maps them any more. */
void sidra_l3_free(struct sidra_device *sdev, struct sidra_l3_part *part);
/* Exact under sidra_device.lock; without it, what is being zeroed may count twice. */
u64 sidra_l3_free_bytes(struct sidra_device *sdev);

#endif
