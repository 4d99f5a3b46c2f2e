/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_PTAB_H__
#define __SIDRA_PTAB_H__

#include "sidra_pure.h"

struct sidra_pt;

/**
 * struct sidra_ptab_memory - where tables come from: zeroed, SIDRA_PAGE_SIZE, aligned to it
 * @alloc: the CPU's address, and the bus address in @bus; NULL: no memory
 */
struct sidra_ptab_memory {
	void *(*alloc)(void *owner, u64 *bus);
	void (*free)(void *owner, void *table, u64 bus);
};

/**
 * struct sidra_ptab - page tables of one context, in the format of uapi/sidra_hw.h
 *
 * The chip walks them at any time: every entry is one store, so it sees old or new. The caller serialises writers.
 */
struct sidra_ptab {
	const struct sidra_ptab_memory *memory;
	void *owner;
	struct sidra_pt *root;
	struct sidra_pt *unlinked;	/* a list: unmap must not need memory */
	u64 tables;
};

int sidra_ptab_init(struct sidra_ptab *ptab, const struct sidra_ptab_memory *memory, void *owner);
/* Frees all tables; the chip has forgotten the context. */
void sidra_ptab_fini(struct sidra_ptab *ptab);
u64 sidra_ptab_root(const struct sidra_ptab *ptab);

/*
 * Maps [va, va + size) to [bus, bus + size) with SIDRA_PTE_READ, _WRITE, _LOCAL of @flags: multiples of 4 KiB, inside
 * the address space, nothing mapped there. 2 MiB leaves wherever both sides allow. -ENOMEM: nothing was mapped.
 */
int sidra_ptab_map(struct sidra_ptab *ptab, u64 va, u64 bus, u64 size, u64 flags);

/*
 * Clears the leaves of what map() made (all of it, or whole parts). Tables that become empty are unlinked but stay
 * allocated: the chip may look at them until the range is quiesced. Never fails.
 */
void sidra_ptab_unmap(struct sidra_ptab *ptab, u64 va, u64 size);

/* What is mapped, from the lowest address on: runs that go on in both spaces, with the same flags, are one. */
struct sidra_ptab_run {
	u64 va, bus, size, flags;
};

void sidra_ptab_runs(const struct sidra_ptab *ptab, void (*run)(void *to, const struct sidra_ptab_run *run), void *to);

/* After the acknowledgement of the quiesce: frees the tables that unmap() unlinked. */
void sidra_ptab_free_unlinked(struct sidra_ptab *ptab);

#endif
