// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_epoch.h"

void sidra_epochs_init(struct sidra_epochs *epochs, u32 first)
{
	spin_lock_init(&epochs->lock);
	epochs->current_epoch = first;
}

void sidra_epochs_begin(struct sidra_epochs *epochs, u32 epoch, u64 retired)
{
	guard(spinlock_irqsave)(&epochs->lock);
	epochs->ended[epochs->count % SIDRA_QUEUE_EPOCHS_KEPT].epoch = epochs->current_epoch;
	epochs->ended[epochs->count % SIDRA_QUEUE_EPOCHS_KEPT].retired = retired;
	epochs->count++;
	/* After the end of the former epoch was recorded */
	smp_store_release(&epochs->current_epoch, epoch);
}

bool sidra_epochs_retired(struct sidra_epochs *epochs, u32 epoch, u64 value)
{
	u32 i;

	guard(spinlock_irqsave)(&epochs->lock);
	for (i = 0; i < min_t(u32, epochs->count, SIDRA_QUEUE_EPOCHS_KEPT); i++)
		if (epochs->ended[i].epoch == epoch)
			return epochs->ended[i].retired >= value;
	return false;
}
