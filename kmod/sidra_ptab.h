/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_PTAB_H__
#define __SIDRA_PTAB_H__

#include "sidra_pure.h"

struct sidra_pt;

/**
 * struct sidra_ptab_memory - allocator of tables: zeroed, of size and alignment SIDRA_PAGE_SIZE
 * @alloc: returns the CPU's address and stores the bus address in @bus; NULL: no memory
 * @free: frees a table
 */
struct sidra_ptab_memory {
	void *(*alloc)(void *owner, u64 *bus);
	void (*free)(void *owner, void *table, u64 bus);
};

/**
 * struct sidra_ptab - page tables of one address space, in the format of uapi/sidra_hw.h
 * @memory: where tables come from
 * @owner: argument of @memory's functions
 * @root: the first table, whose address the chip has
 * @unlinked: tables that are no longer used, until the chip has acknowledged that; a list, because
 *            unmap must not need memory
 * @tables: number of tables
 *
 * The chip may walk them at any time. Every entry is written with one store, so the chip sees its
 * old or new value. The caller serialises writers.
 */
struct sidra_ptab {
	const struct sidra_ptab_memory *memory;
	void *owner;
	struct sidra_pt *root;
	struct sidra_pt *unlinked;
	u64 tables;
};

int sidra_ptab_init(struct sidra_ptab *ptab, const struct sidra_ptab_memory *memory, void *owner);
/* Frees all tables; the chip no longer uses the context. */
void sidra_ptab_fini(struct sidra_ptab *ptab);
u64 sidra_ptab_root(const struct sidra_ptab *ptab);

/*
 * Maps [va, va + size) to [bus, bus + size) with SIDRA_PTE_READ, _WRITE, _LOCAL of @flags.
 * Addresses and size are multiples of 4 KiB, inside the address space, and nothing is mapped there
 * yet. Uses 2 MiB leaves where both sides allow it. -ENOMEM: nothing was mapped.
 */
int sidra_ptab_map(struct sidra_ptab *ptab, u64 va, u64 bus, u64 size, u64 flags);

/*
 * Clears the leaves of one or more complete calls of map(). Tables that become empty are unlinked
 * but stay allocated, because the chip may read them until the range is quiesced. Never fails.
 */
void sidra_ptab_unmap(struct sidra_ptab *ptab, u64 va, u64 size);

/**
 * struct sidra_ptab_run - neighbouring mappings that are contiguous in both spaces and have the
 * same flags
 * @va: device address
 * @bus: bus address
 * @size: in bytes
 * @flags: as given to sidra_ptab_map()
 */
struct sidra_ptab_run {
	u64 va, bus, size, flags;
};

/* Calls @run for all mappings, by address. */
void sidra_ptab_runs(const struct sidra_ptab *ptab,
		     void (*run)(void *to, const struct sidra_ptab_run *run), void *to);

/* Frees the tables that unmap() unlinked; called after the quiesce was acknowledged. */
void sidra_ptab_free_unlinked(struct sidra_ptab *ptab);

#endif
