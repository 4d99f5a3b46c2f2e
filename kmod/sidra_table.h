/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries of the tables of contexts, queues and weights, which the chip may read at any time. */
#ifndef __SIDRA_TABLE_H__
#define __SIDRA_TABLE_H__

#include <linux/types.h>

/* Writes an entry in 64-bit words. The word with the VALID flag is written last. */
void sidra_entry_publish(void *place, const void *entry, size_t size, size_t flags_offset);

static inline void sidra_entry_revoke(__le32 *flags)
{
	WRITE_ONCE(*flags, 0);
}

#endif
