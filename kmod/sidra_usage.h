/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an open file has used of the device, for fdinfo. State pages tell it, so nobody asks the chip, and who reads it waits for nobody who
 * does. They are the chip's word: what is shown never decreases, whatever it says.
 */
#ifndef __SIDRA_USAGE_H__
#define __SIDRA_USAGE_H__

#include <linux/list.h>
#include <linux/spinlock.h>

#include <sidra_accel.h>

struct drm_file;
struct drm_printer;

enum sidra_used {
	SIDRA_USED_ENGINE_NS,	/* by enum sidra_hw_engine */
	SIDRA_USED_DEVICE_PS = SIDRA_USED_ENGINE_NS + SIDRA_HW_ENGINE_COUNT,
	SIDRA_USED_ENERGY_PJ,
	SIDRA_USED_COUNT
};

/**
 * struct sidra_account - of an open file
 * @lock: protects the rest, and all struct sidra_use in @uses
 * @uses: of its queues
 * @contexts: how many there are
 * @gone: what queues used that are gone
 */
struct sidra_account {
	spinlock_t lock;
	struct list_head uses;
	unsigned int contexts;
	u64 gone[SIDRA_USED_COUNT];
};

/**
 * struct sidra_use - of a queue
 * @before: what it used before the chip loaded it anew, and began at zero
 * @seen: the most that it said since
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
void sidra_use_begin(struct sidra_use *use, struct sidra_account *account, struct sidra_queue_state *state);
/* The chip has forgotten the queue, and will load it again: its state page is the driver's until then. */
void sidra_use_restart(struct sidra_use *use);
/* The state page goes. */
void sidra_use_end(struct sidra_use *use);

void sidra_account_show(struct sidra_account *account, struct drm_printer *p);

#endif
