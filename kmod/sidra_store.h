/* SPDX-License-Identifier: GPL-2.0-only */
/* All weights objects on one array: their crossbars, references and names. */
#ifndef __SIDRA_STORE_H__
#define __SIDRA_STORE_H__

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "sidra_nvm.h"
#include "sidra_xbar.h"

struct sidra_device;
struct sidra_user;

/**
 * struct sidra_object - a weights object; exists while a handle, a file descriptor or a name refers
 * to it, and until its cells are erased. Protected by sidra_store.lock; only @link, @handles and
 * @descriptors change while something refers to it
 * @link: in sidra_store.objects
 * @user: who created it, and is charged for its crossbars; the owner of its name, if a former
 *        driver created it
 * @uid: number that identifies it, also in NVM
 * @rows: rows of the matrix
 * @cols: columns of the matrix
 * @encoding: enum sidra_encoding
 * @tile_count: number of its crossbars
 * @xbars: its crossbars in the order of the grid
 * @tiles: the same for the chip, which the driver does not read, because the chip may write there
 * @tiles_bus: bus address of that list
 * @handles: number of handles that refer to it
 * @descriptors: number of file descriptors that refer to it
 * @damaged: it has a name, but not all of its crossbars were found
 * @gone: the device was removed; only file descriptors keep the object; protected by
 *        sidra_device.reset_lock
 */
struct sidra_object {
	struct list_head link;
	struct sidra_user *user;
	u64 uid;
	u32 rows, cols, encoding;
	u32 tile_count;
	u32 *xbars;
	__le32 *tiles;
	dma_addr_t tiles_bus;
	u32 handles;
	u32 descriptors;
	bool damaged;
	bool gone;
};

/**
 * struct sidra_store - all objects of a device
 * @cells_lock: protects @xbars; held while crossbars are taken for an object, and while cells are
 *              erased
 * @data_lock: held to change the names in @nvm, and while what is kept with a name is written or
 *             read, which may take long
 * @lock: protects the others, and objects; nobody waits for the chip, or for memory, under it. The
 *        functions below take these locks, and if it is not said otherwise return -EINTR if a fatal
 *        signal ends the wait for one. The caller holds sidra_device.reset_lock
 * @nvm: directory of named objects; names change under both locks
 * @xbars: which crossbars are free
 * @objects: struct sidra_object
 * @unerased: one byte per crossbar: unused, but the chip did not confirm the erasure; erased before
 *            it is allocated
 * @unerased_count: number of these crossbars
 * @charged: owners of entries of the directory below this number are charged for them; all, once
 *           the device has started
 */
struct sidra_store {
	struct mutex cells_lock;	/* of free crossbars, and of the uids of @nvm */
	struct mutex data_lock;	/* of the extents of @nvm */
	struct mutex lock;	/* of the rest */
	struct sidra_nvm nvm;
	struct sidra_xbars xbars;
	struct list_head objects;
	u8 *unerased;
	u32 unerased_count;
	u32 charged;
};

/*
 * Reads the directory, finds the crossbars of named objects, and erases those that an earlier
 * driver left for anonymous ones.
 */
int sidra_store_init(struct sidra_device *sdev);
void sidra_store_fini(struct sidra_device *sdev);

/*
 * Creates an unprogrammed object with one handle; -EDQUOT, -ENOSPC. @wanted: a crossbar for each
 * tile, of which none may be in use (-EBUSY); NULL: the driver chooses.
 */
struct sidra_object *sidra_store_create(struct sidra_device *sdev, struct sidra_user *user,
					u32 rows, u32 cols, u32 encoding, const u32 *wanted);
/* Takes one more reference for a handle, or for a file descriptor. Cannot fail. */
void sidra_store_get_handle(struct sidra_device *sdev, struct sidra_object *object);
void sidra_store_get_descriptor(struct sidra_device *sdev, struct sidra_object *object);
/*
 * Drops a handle whose table entry was removed and quiesced. The last reference erases the cells.
 * Cannot fail.
 */
void sidra_store_put_handle(struct sidra_device *sdev, struct sidra_object *object);
void sidra_store_put_descriptor(struct sidra_device *sdev, struct sidra_object *object);

/*
 * Gives the object a name of a user. -EEXIST; -ENODATA if not all of it is programmed; -EDQUOT,
 * -ENOSPC, -EIO.
 */
int sidra_store_publish(struct sidra_device *sdev, struct sidra_user *user,
			struct sidra_object *object, struct sidra_nvm_entry *entry,
			const void *data, u64 size);
/*
 * Opens an object by its owner and name with one more handle, if @rights are granted and it is not
 * damaged. @data: what is kept with it, which the caller frees with kvfree().
 */
int sidra_store_open(struct sidra_device *sdev, u32 owner, const char *name, u32 rights,
		     const struct sidra_nvm_user *user, struct sidra_object **object, void **data,
		     u64 *size);
int sidra_store_unlink(struct sidra_device *sdev, u32 owner, const char *name, bool evict,
		       const struct sidra_nvm_user *user);

/*
 * Counts the tile rows that hold weights of this object, and all of its tile rows. Like
 * sidra_store_report() it only waits for commands of others.
 */
int sidra_store_progress(struct sidra_device *sdev, struct sidra_object *object, u32 *programmed,
			 u32 *total);
/*
 * Reads the headers of all crossbars. Takes sidra_device.reset_lock for each XBAR_READ, and not
 * sidra_store.lock; the caller must not hold them. Returns the number of bytes, or -EAGAIN,
 * -ENODEV, -EIO, -ETIMEDOUT. A failure never resets the device, because monitoring is no reason for
 * a reset.
 */
int sidra_store_headers(struct sidra_device *sdev, struct sidra_hw_xbar *headers);
/* Reads the programming report of a tile; -EIO. */
int sidra_store_report(struct sidra_device *sdev, struct sidra_object *object, u32 tile,
		       struct sidra_hw_xbar_report *report);

#endif
