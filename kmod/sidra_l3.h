/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_L3_H__
#define __SIDRA_L3_H__

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "sidra_range.h"

struct sidra_device;

/**
 * struct sidra_l3_part - a part of L3 that is allocated, or waits to be zeroed
 * @link: in sidra_l3.dirty, while it waits
 * @offset: from the beginning of L3, in bytes
 * @size: in bytes
 */
struct sidra_l3_part {
	struct list_head link;
	u64 offset, size;
};

/**
 * struct sidra_l3 - allocation of the pages of L3 SRAM
 * @clean_lock: held while memory is zeroed
 * @range_lock: protects @free
 * @free: zeroed and free
 * @lock: protects @dirty and @used
 * @dirty: freed, but not zeroed yet
 * @used: number of bytes that are allocated
 * @clean_work: zeroes them
 * @base: address of BAR2
 * @size: bytes of BAR2 that are L3
 * @hidden: mappings show other pages instead; protected by sidra_device.map_lock
 */
struct sidra_l3 {
	struct mutex clean_lock;	/* of parts that leave @dirty */
	struct mutex range_lock;	/* of @free */
	struct sidra_range free;
	spinlock_t lock;	/* of @dirty and @used */
	struct list_head dirty;
	u64 used;
	struct work_struct clean_work;
	phys_addr_t base;
	u64 size;
	bool hidden;
};

int sidra_l3_init(struct sidra_device *sdev);

/*
 * Allocates zeroed pages; the caller holds sidra_device.reset_lock. -ENOSPC, -ENOMEM, or -EINTR
 * after a fatal signal.
 */
struct sidra_l3_part *sidra_l3_alloc(struct sidra_device *sdev, u64 size);
/* Frees pages that nobody maps any more, in any context. */
void sidra_l3_free(struct sidra_device *sdev, struct sidra_l3_part *part);
/* Bytes that are free, zeroed or not. */
u64 sidra_l3_free_bytes(struct sidra_device *sdev);

#endif
