/* SPDX-License-Identifier: GPL-2.0-only */
/* The epochs of a queue, which distinguish retired packets from packets that a reset dropped. */
#ifndef __SIDRA_EPOCH_H__
#define __SIDRA_EPOCH_H__

#include <linux/spinlock.h>
#include <linux/types.h>

#include <sidra_accel.h>

/**
 * struct sidra_epochs - the epoch that runs, and how the last ones ended
 * @lock: protects @ended and @count; innermost
 * @current_epoch: number of the epoch that runs; the state page, which the device can write, has a
 *                 copy
 * @ended: the epochs that ended last, as a ring, with their final timelines
 * @count: number of epochs that have ended
 */
struct sidra_epochs {
	spinlock_t lock;	/* of @ended and @count */
	u32 current_epoch;
	struct {
		u32 epoch;
		u64 retired;
	} ended[SIDRA_QUEUE_EPOCHS_KEPT];
	u32 count;
};

void sidra_epochs_init(struct sidra_epochs *epochs, u32 first);

/*
 * Ends the epoch that runs, in which packets before @retired have retired, and begins another one.
 */
void sidra_epochs_begin(struct sidra_epochs *epochs, u32 epoch, u64 retired);

/* Whether an epoch that has ended is known, and had reached @value. */
bool sidra_epochs_retired(struct sidra_epochs *epochs, u32 epoch, u64 value);

static inline u32 sidra_epochs_current(const struct sidra_epochs *epochs)
{
	/*
	 * Pairs with the release in sidra_epochs_begin(): what ended before this epoch is recorded.
	 */
	return smp_load_acquire(&epochs->current_epoch);
}

#endif
