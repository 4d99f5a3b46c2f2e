/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_NVM_H__
#define __SIDRA_NVM_H__

#include "sidra_pure.h"
#include "sidra_range.h"

#define SIDRA_NVM_ENTRIES_OFFSET	((u64)sizeof(struct sidra_nvm_super))
#define SIDRA_NVM_DATA_OFFSET \
	(SIDRA_NVM_ENTRIES_OFFSET + (u64)SIDRA_NVM_ENTRIES * sizeof(struct sidra_nvm_entry))

/**
 * struct sidra_nvm_store - accesses to non-volatile memory; each returns 0 or -errno
 * @read: reads bytes at an offset
 * @write: writes bytes at an offset
 */
struct sidra_nvm_store {
	int (*read)(void *owner, u64 offset, void *to, u64 size);
	int (*write)(void *owner, u64 offset, const void *from, u64 size);
};

/**
 * struct sidra_nvm - the directory of named weights in the chip's non-volatile memory
 * @store: access to the memory
 * @owner: passed to @store
 * @entries: SIDRA_NVM_ENTRIES entries; uid 0 means free. Implausible entries were dropped when they
 *           were read
 * @data: free extents
 * @next_uid: as stored; 0: nothing stored yet
 * @uid: next uid to assign; all below @next_uid are reserved
 *
 * Every change is in NVM before the call returns; an entry is written after the data that it names,
 * so that an interrupted change leaves the old state. The caller serialises; what is kept with an
 * entry may be written and read while others look for entries.
 */
struct sidra_nvm {
	const struct sidra_nvm_store *store;
	void *owner;
	struct sidra_nvm_entry *entries;
	struct sidra_range data;
	u64 next_uid;
	u64 uid;
};

/*
 * Reads the directory. Memory that was never written becomes an empty directory once something is
 * stored.
 */
int sidra_nvm_load(struct sidra_nvm *nvm, const struct sidra_nvm_store *store, void *owner,
		   u64 size);
void sidra_nvm_fini(struct sidra_nvm *nvm);

/* Whether no object was ever created on this array. */
static inline bool sidra_nvm_fresh(const struct sidra_nvm *nvm)
{
	return !nvm->next_uid;
}

/* Bytes of an extent with data of that size. */
u64 sidra_nvm_extent(u64 size);

/* Assigns a uid that was never used on this array; 0 or -errno. */
int sidra_nvm_take_uid(struct sidra_nvm *nvm, u64 *uid);

/* Number of an entry, or -ENOENT. Each user has names of its own. */
int sidra_nvm_find(const struct sidra_nvm *nvm, u32 owner, const char *name);
int sidra_nvm_find_uid(const struct sidra_nvm *nvm, u64 uid);

/*
 * Stores a new entry (its data extent is filled in here); its number, or -EEXIST, -ENOSPC, -EIO,
 * -ENOMEM. Nobody finds it before sidra_nvm_show(), which follows.
 */
int sidra_nvm_add(struct sidra_nvm *nvm, struct sidra_nvm_entry *entry, const void *data, u64 size);
void sidra_nvm_show(struct sidra_nvm *nvm, u32 number, const struct sidra_nvm_entry *entry);
/* Removes an entry; 0 or -EIO. It is found until sidra_nvm_hide(), which follows. */
int sidra_nvm_remove(struct sidra_nvm *nvm, u32 number);
void sidra_nvm_hide(struct sidra_nvm *nvm, u32 number);

/**
 * struct sidra_nvm_user - who asks for an object
 * @uid: in the initial user namespace
 * @admin: may do everything
 */
struct sidra_nvm_user {
	u32 uid;
	bool admin;
};

/* The rights (SIDRA_WEIGHTS_*) that owner and mode grant to a user. */
u32 sidra_nvm_rights(const struct sidra_nvm_entry *entry, const struct sidra_nvm_user *user);
/* Whether a user may know of an entry: its owner, and who has any rights. */
bool sidra_nvm_visible(const struct sidra_nvm_entry *entry, const struct sidra_nvm_user *user);

/* Outputs of a tile, inputs of a tile, and tiles of an object. */
static inline u32 sidra_tile_outputs(u32 encoding)
{
	return encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
}

static inline u64 sidra_tile_count(u32 rows, u32 cols, u32 encoding)
{
	u32 outputs = sidra_tile_outputs(encoding);

	return DIV_ROUND_UP((u64)rows, SIDRA_XBAR_ROWS) * DIV_ROUND_UP((u64)cols, outputs);
}

#endif
