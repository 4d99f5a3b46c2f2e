/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers in shared memory, in memory of the caller, in L3 and in L3 of other cards, and their
 * bindings to address spaces.
 */
#ifndef __SIDRA_BO_H__
#define __SIDRA_BO_H__

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <drm/drm_gem_shmem_helper.h>

#include <sidra_accel.h>

struct sidra_binding;
struct sidra_device;
struct sidra_l3_part;
struct sidra_vm;

/**
 * enum sidra_bo_kind - where the memory of a buffer is
 * @SIDRA_BO_HOST: GEM shmem, also imported
 * @SIDRA_BO_LOCAL: L3
 * @SIDRA_BO_USER: pinned memory of the caller
 * @SIDRA_BO_PEER: L3 of another card
 */
enum sidra_bo_kind {
	SIDRA_BO_HOST,
	SIDRA_BO_LOCAL,
	SIDRA_BO_USER,
	SIDRA_BO_PEER
};

/**
 * struct sidra_bo - a buffer
 * @base: first; of a local or user buffer only its drm_gem_object is used
 * @kind: whose memory it is; constant
 * @dma_lock: serialises the first mapping for DMA
 * @link: in sidra_device.bos while @sgt is mapped, under bo_lock. Of a local buffer: in
 *        sidra_peers.exports while it is @exported
 * @sgt: pages mapped for DMA; NULL before the first bind and after the device was removed
 * @direction: direction of that mapping
 * @exporter: exporter of an import that was unmapped; holds the reference that the attachment had
 * @part: of a local buffer: its pages of L3
 * @user: of a local buffer: who is charged for them
 * @exported: of a local buffer: its dma-buf, or NULL; protected by sidra_peers.lock
 * @revoked: of a local buffer, and of a peer's: nobody may map or bind it any more; set under the
 *           reservation of the dma-buf, also read under sidra_vm.lock alone
 * @drop_work: of a peer's buffer: drops its bindings and its mapping
 * @pinned: of a user buffer: its pinned pages
 * @mm: of a user buffer: the address space that the pinned pages are charged to
 * @pages: of a user buffer: number of pages charged to @mm
 * @first: of a user buffer: offset of the caller's first byte in the first page
 * @readonly: the device may not write it
 */
struct sidra_bo {
	struct drm_gem_shmem_object base;
	enum sidra_bo_kind kind;
	struct mutex dma_lock;		/* of the first mapping */
	struct list_head link;
	struct sg_table *sgt;
	enum dma_data_direction direction;
	struct dma_buf *exporter;

	struct sidra_l3_part *part;
	struct sidra_user *user;
	struct dma_buf *exported;
	bool revoked;
	struct work_struct drop_work;

	struct sg_append_table pinned;
	struct mm_struct *mm;
	unsigned long pages;
	u64 first;
	bool readonly;
};

static inline struct sidra_bo *to_sidra_bo(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct sidra_bo, base);
}

struct drm_gem_object *sidra_bo_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *sidra_bo_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);

/* Undoes all mappings for DMA, at the end of remove(), when no context is left. */
void sidra_bo_unmap_all(struct sidra_device *sdev);

#endif
