// SPDX-License-Identifier: GPL-2.0-only
#include <asm/barrier.h>

#include "sidra_table.h"

void sidra_entry_publish(void *place, const void *entry, size_t size, size_t flags_offset)
{
	const u64 *from = entry;
	u64 *to = place;
	size_t i, flag_word = flags_offset / sizeof(u64);

	for (i = 0; i < size / sizeof(u64); i++)
		if (i != flag_word)
			WRITE_ONCE(to[i], from[i]);
	dma_wmb();
	WRITE_ONCE(to[flag_word], from[flag_word]);
	dma_wmb();
}
