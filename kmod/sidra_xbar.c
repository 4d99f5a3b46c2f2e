// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_xbar.h"

struct run {
	u32 begin, length;
};

int sidra_xbars_init(struct sidra_xbars *xbars, u32 total, u32 per_unit)
{
	if (!total || !per_unit)
		return -EINVAL;
	xbars->taken = kvcalloc(total, sizeof(*xbars->taken), GFP_KERNEL);
	if (!xbars->taken)
		return -ENOMEM;
	xbars->total = total;
	xbars->per_unit = per_unit;
	xbars->free = total;
	return 0;
}

void sidra_xbars_fini(struct sidra_xbars *xbars)
{
	kvfree(xbars->taken);
	xbars->taken = NULL;
}

/* Finds the next free run at or after @from; length 0 if there is none. */
static struct run sidra_xbars_next_run(const struct sidra_xbars *xbars, u32 from)
{
	struct run run = { from, 0 };

	while (run.begin < xbars->total && xbars->taken[run.begin])
		run.begin++;
	while (run.begin + run.length < xbars->total && !xbars->taken[run.begin + run.length])
		run.length++;
	return run;
}

/*
 * Chooses the position in a run that is long enough: inside one compute unit, or at the start of
 * one, if possible.
 */
static u32 sidra_xbars_place(const struct sidra_xbars *xbars, const struct run *run, u32 count)
{
	u32 unit_start = DIV_ROUND_UP(run->begin, xbars->per_unit) * xbars->per_unit;

	if (count <= xbars->per_unit && run->begin + count <= unit_start)
		return run->begin;
	return unit_start + count > run->begin + run->length ? run->begin : unit_start;
}

/*
 * Number of crossbars in the run, or in its compute unit, that stay free beside the @count; fewer
 * is better.
 */
static u32 sidra_xbars_waste_of(const struct sidra_xbars *xbars, const struct run *run, u32 count)
{
	u32 begin = sidra_xbars_place(xbars, run, count);
	u32 unit = begin / xbars->per_unit * xbars->per_unit;
	u32 free = 0, i;

	if (count > xbars->per_unit)
		return run->length - count;
	if (begin + count > unit + xbars->per_unit)	/* across a unit boundary: last choice */
		return run->length - count + xbars->total;
	for (i = unit; i < min(unit + xbars->per_unit, xbars->total); i++)
		free += !xbars->taken[i];
	return free - count;
}

static int sidra_xbars_by_length(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Collects scattered crossbars, the longest runs first. */
static int sidra_xbars_gather(struct sidra_xbars *xbars, u32 count, u32 *list)
{
	u32 runs = 0, taken = 0, i, j;
	struct run run, *all;

	for (run = sidra_xbars_next_run(xbars, 0); run.length;
	     run = sidra_xbars_next_run(xbars, run.begin + run.length))
		runs++;
	all = kvcalloc(runs, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	i = 0;
	for (run = sidra_xbars_next_run(xbars, 0); run.length;
	     run = sidra_xbars_next_run(xbars, run.begin + run.length))
		all[i++] = run;
	sort(all, runs, sizeof(*all), sidra_xbars_by_length, NULL);
	for (i = 0; i < runs; i++)
		for (j = 0; j < all[i].length && taken < count; j++)
			list[taken++] = all[i].begin + j;
	kvfree(all);
	return 0;
}

int sidra_xbars_alloc(struct sidra_xbars *xbars, u32 count, u32 *list)
{
	struct run run, best = { 0, 0 };
	u32 best_waste = 0, i;

	if (!count || count > xbars->free)
		return -ENOSPC;
	for (run = sidra_xbars_next_run(xbars, 0); run.length;
	     run = sidra_xbars_next_run(xbars, run.begin + run.length)) {
		u32 waste;

		if (run.length < count)
			continue;
		waste = sidra_xbars_waste_of(xbars, &run, count);
		if (best.length && waste >= best_waste)
			continue;
		best = run;
		best_waste = waste;
	}
	if (best.length) {
		u32 begin = sidra_xbars_place(xbars, &best, count);

		for (i = 0; i < count; i++)
			list[i] = begin + i;
	} else if (sidra_xbars_gather(xbars, count, list)) {
		return -ENOMEM;
	}
	for (i = 0; i < count; i++)
		xbars->taken[list[i]] = 1;
	xbars->free -= count;
	return 0;
}

int sidra_xbars_reserve(struct sidra_xbars *xbars, const u32 *list, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (list[i] < xbars->total && !xbars->taken[list[i]]) {
			xbars->taken[list[i]] = 1;
			continue;
		}
		while (i--)
			xbars->taken[list[i]] = 0;
		return -EBUSY;
	}
	xbars->free -= count;
	return 0;
}

void sidra_xbars_free(struct sidra_xbars *xbars, const u32 *list, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		xbars->taken[list[i]] = 0;
	xbars->free += count;
}
