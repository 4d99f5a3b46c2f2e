/* SPDX-License-Identifier: GPL-2.0-only */
/* Mappings to user space, and their mmap offsets. GEM's fake offsets lie below all others. */
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
/* Sets up a mapping of an L3 buffer. */
int sidra_map_local(struct drm_gem_object *obj, struct vm_area_struct *vma);
/* Zaps all mappings of this context's doorbell page. The next access faults, and maps the page that is allowed then. */
void sidra_map_zap_doorbell(struct sidra_ctx *ctx);
/* Shows or hides L3 in all mappings: it must not be accessed during a suspend or a bus reset. */
void sidra_map_show_local(struct sidra_device *sdev, bool show);

#endif
