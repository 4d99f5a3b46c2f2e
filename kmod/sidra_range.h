/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_RANGE_H__
#define __SIDRA_RANGE_H__

#include "sidra_pure.h"

/**
 * struct sidra_range - first fit over an ordered tree of free ranges
 * @free: struct sidra_range_node by address; neighbours are merged
 * @spare: spare nodes, so that freeing never fails
 * @total: free bytes
 * @taken: number of allocated ranges
 * @nodes: number of nodes in both
 *
 * The caller serialises. Freeing takes a time that is logarithmic in the number of free ranges, and
 * so does allocating, unless there are many that are only too small for the alignment.
 */
struct sidra_range {
	struct rb_root_cached free;
	struct list_head spare;
	u64 total;
	size_t taken;
	size_t nodes;
};

int sidra_range_init(struct sidra_range *range, u64 begin, u64 end);
void sidra_range_fini(struct sidra_range *range);

/*
 * Allocates the lowest a >= from, or else the lowest at all, such that [a, a + size) is free and a
 * % alignment == phase; size > 0, phase < alignment. -ENOSPC: there is none; -ENOMEM.
 */
int sidra_range_alloc(struct sidra_range *range, u64 size, u64 alignment, u64 phase, u64 from,
		      u64 *address);

/*
 * Allocates exactly [begin, begin + size); -ENOSPC, without any change, if not all of it is free.
 */
int sidra_range_reserve(struct sidra_range *range, u64 begin, u64 size);

/* Frees the range that one call of alloc or reserve took. */
void sidra_range_free(struct sidra_range *range, u64 begin, u64 size);

u64 sidra_range_largest(const struct sidra_range *range);

#endif
