/* SPDX-License-Identifier: GPL-2.0-only */
/* All weights objects on one array: which crossbars they have, who still refers to them, and their names. */
#ifndef __SIDRA_STORE_H__
#define __SIDRA_STORE_H__

#include <linux/list.h>
#include <linux/types.h>

#include "sidra_nvm.h"
#include "sidra_xbar.h"

struct sidra_device;

/**
 * struct sidra_object - exists while a handle, a descriptor or a name refers to it; under sidra_device.lock
 * @tiles: crossbars, in the order of the grid; the chip reads them
 * @damaged: named, but not all of its crossbars were found
 * @gone: the device is; only a descriptor keeps it
 */
struct sidra_object {
	struct list_head link;
	u64 uid;
	u32 rows, cols, encoding;
	u32 tile_count;
	u32 *tiles;
	dma_addr_t tiles_bus;
	u32 handles;
	u32 descriptors;
	bool damaged;
	bool gone;
};

/**
 * struct sidra_store - under sidra_device.lock
 * @unerased: a byte a crossbar that is nobody's, but the chip did not answer; erased before they are given out
 */
struct sidra_store {
	struct sidra_nvm nvm;
	struct sidra_xbars xbars;
	struct list_head objects;
	u8 *unerased;
	u32 unerased_count;
};

/* Reads the directory, finds crossbars of named objects, erases those of anonymous ones that an earlier driver left. */
int sidra_store_init(struct sidra_device *sdev);
void sidra_store_fini(struct sidra_device *sdev);

/* A new unprogrammed object with one handle. */
struct sidra_object *sidra_store_create(struct sidra_device *sdev, u32 rows, u32 cols, u32 encoding);
/* No table names it for this handle any more (quiesced). The cells are erased with the last reference. */
void sidra_store_put_handle(struct sidra_device *sdev, struct sidra_object *object);
void sidra_store_put_descriptor(struct sidra_device *sdev, struct sidra_object *object);

/* -EEXIST, -ENODATA: not all of it is programmed; -ENOSPC, -EIO. */
int sidra_store_publish(struct sidra_device *sdev, struct sidra_object *object, struct sidra_nvm_entry *entry,
			const void *data, u64 size);
/* Number of the entry: @rights are granted, the object is whole, and has one handle more. */
int sidra_store_open(struct sidra_device *sdev, const char *name, u32 rights, u32 user, bool admin,
		     struct sidra_object **object);
int sidra_store_unlink(struct sidra_device *sdev, const char *name, bool evict, u32 user, bool admin);
int sidra_store_read_data(struct sidra_device *sdev, u32 number, void *data);

/* Rows of tiles that hold weights of this object, and how many there are in all. */
int sidra_store_progress(struct sidra_device *sdev, struct sidra_object *object, u32 *programmed, u32 *total);
/*
 * Headers of all crossbars, one XBAR_READ at a time under sidra_device.lock, which is not to be held: bytes, or -EAGAIN, -ENODEV, -EIO,
 * -ETIMEDOUT. It never costs a reset: who only wants to see is no reason for one.
 */
int sidra_store_headers(struct sidra_device *sdev, struct sidra_hw_xbar *headers);
/* What programming that tile took; -EIO, -EOPNOTSUPP: the chip is too old to tell. */
int sidra_store_report(struct sidra_device *sdev, struct sidra_object *object, u32 tile,
		       struct sidra_hw_xbar_report *report);

#endif
