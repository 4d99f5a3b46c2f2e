/* SPDX-License-Identifier: GPL-2.0-only */
/* What an mmap offset names. GEM's fake offsets lie below all of these. */
#ifndef __SIDRA_MMAP_H__
#define __SIDRA_MMAP_H__

#include <linux/mm_types.h>
#include <linux/types.h>

struct drm_gem_object;
struct file;
struct sidra_ctx;
struct sidra_device;
struct vm_area_struct;

enum sidra_map_kind {
	SIDRA_MAP_GEM		= 0,
	SIDRA_MAP_DOORBELL	= 1,
	SIDRA_MAP_RING		= 3,
	SIDRA_MAP_STATE		= 4
};

#define SIDRA_HANDLE_LIMIT	XA_LIMIT(1, 0x7fffffff)

static inline u64 sidra_map_offset(enum sidra_map_kind kind, u32 context, u32 queue)
{
	return (u64)kind << 56 | (u64)context << 24 | (u64)queue << 12;
}

extern const struct vm_operations_struct sidra_local_vm_ops;

int sidra_mmap(struct file *filp, struct vm_area_struct *vma);
/* GEM's mmap of L3. */
int sidra_map_local(struct drm_gem_object *obj, struct vm_area_struct *vma);
/* Whoever has this context's doorbell page mapped finds at the next touch what he may see then. */
void sidra_map_zap_doorbell(struct sidra_ctx *ctx);
/* The same for L3 of all files: it must not be touched while the device sleeps or is reset by the bus. */
void sidra_map_show_local(struct sidra_device *sdev, bool show);

#endif
