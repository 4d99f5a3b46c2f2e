/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device use of an open file, for fdinfo. It comes from state pages in memory, so no reader
 * accesses the chip or waits for anybody who does. State pages are written by the chip, which is
 * not trusted: the values shown never decrease.
 */
#ifndef __SIDRA_USAGE_H__
#define __SIDRA_USAGE_H__

#include <linux/list.h>
#include <linux/spinlock.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct drm_file;
struct drm_printer;

/**
 * enum sidra_used - counters of a queue in its state page
 * @SIDRA_USED_ENGINE_NS: the first of those of the engines, by enum sidra_hw_engine, in nanoseconds
 * @SIDRA_USED_DEVICE_PS: device time (cost model), in picoseconds
 * @SIDRA_USED_ENERGY_PJ: energy (cost model), in picojoules
 * @SIDRA_USED_COUNT: number of counters
 */
enum sidra_used {
	SIDRA_USED_ENGINE_NS,
	SIDRA_USED_DEVICE_PS = SIDRA_USED_ENGINE_NS + SIDRA_HW_ENGINE_COUNT,
	SIDRA_USED_ENERGY_PJ,
	SIDRA_USED_COUNT
};

/**
 * struct sidra_account - use by an open file
 * @lock: protects the rest, and all struct sidra_use in @uses
 * @uses: those of its queues
 * @contexts: number of its contexts
 * @gone: use by queues that no longer exist
 */
struct sidra_account {
	spinlock_t lock;	/* of what follows, and of @uses' entries */
	struct list_head uses;
	unsigned int contexts;
	u64 gone[SIDRA_USED_COUNT];
};

/**
 * struct sidra_use - use by a queue
 * @link: in sidra_account.uses
 * @account: that of the queue's file
 * @state: the state page, where the chip counts
 * @before: use before the chip last loaded the queue and began counting at zero
 * @seen: highest values seen since
 */
struct sidra_use {
	struct list_head link;
	struct sidra_account *account;
	struct sidra_queue_state *state;
	u64 before[SIDRA_USED_COUNT];
	u64 seen[SIDRA_USED_COUNT];
};

void sidra_account_init(struct sidra_account *account);
void sidra_account_contexts(struct sidra_account *account, int change);
void sidra_use_begin(struct sidra_use *use, struct sidra_account *account,
		     struct sidra_queue_state *state);
/*
 * The chip has dropped the queue and will load it again. Until then the state page belongs to the
 * driver.
 */
void sidra_use_restart(struct sidra_use *use);
/* Called before the state page is freed. */
void sidra_use_end(struct sidra_use *use);

void sidra_account_show(struct sidra_account *account, struct drm_printer *p);

#endif
