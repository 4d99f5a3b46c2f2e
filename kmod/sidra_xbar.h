/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_XBAR_H__
#define __SIDRA_XBAR_H__

#include "sidra_pure.h"

/**
 * struct sidra_xbars - which crossbars are free, and which of them an object gets
 * @taken: a byte a crossbar
 * @total, @per_unit, @free: crossbars of the chip, of one compute unit, free now
 *
 * Tiles of an object should be near each other: in one compute unit, else in neighbouring ones. The caller serialises.
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
 * Takes @count crossbars into @list. In order of preference: the fullest compute unit that holds them in one run; the
 * shortest run anywhere, from the start of a compute unit if it can; else the longest runs, one after the other.
 * -ENOSPC: there are not that many.
 */
int sidra_xbars_alloc(struct sidra_xbars *xbars, u32 count, u32 *list);

/* Takes exactly these; -EBUSY, and nothing changes, if one is not free (or does not exist). */
int sidra_xbars_reserve(struct sidra_xbars *xbars, const u32 *list, u32 count);
void sidra_xbars_free(struct sidra_xbars *xbars, const u32 *list, u32 count);

#endif
