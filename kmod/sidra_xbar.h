/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_XBAR_H__
#define __SIDRA_XBAR_H__

#include "sidra_pure.h"

/**
 * struct sidra_xbars - allocator of crossbars
 * @taken: one byte per crossbar
 * @total: crossbars of the chip
 * @per_unit: crossbars of one compute unit
 * @free: free crossbars
 *
 * The tiles of an object should be near each other: in one compute unit, or else in neighbouring
 * ones. The caller serialises.
 */
struct sidra_xbars {
	u8 *taken;
	u32 total;
	u32 per_unit;
	u32 free;
};

int sidra_xbars_init(struct sidra_xbars *xbars, u32 total, u32 per_unit);
void sidra_xbars_fini(struct sidra_xbars *xbars);

/*
 * Allocates @count crossbars and stores their numbers in @list. It prefers the fullest compute unit
 * that holds them in one run, then the shortest run anywhere (from the start of a compute unit, if
 * possible), then the longest runs, one after the other. -ENOSPC: too few are free.
 */
int sidra_xbars_alloc(struct sidra_xbars *xbars, u32 count, u32 *list);

/* Allocates exactly these; -EBUSY, without any change, if one is not free or does not exist. */
int sidra_xbars_reserve(struct sidra_xbars *xbars, const u32 *list, u32 count);
void sidra_xbars_free(struct sidra_xbars *xbars, const u32 *list, u32 count);

#endif
