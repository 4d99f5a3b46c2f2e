/* SPDX-License-Identifier: GPL-2.0-only */
/* Mappings to user space, and their mmap offsets. */
#ifndef __SIDRA_MAP_H__
#define __SIDRA_MAP_H__

#include <linux/bitfield.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct drm_gem_object;
struct file;
struct sidra_ctx;
struct sidra_device;
struct vm_area_struct;

/**
 * enum sidra_map_kind - what an offset for mmap(2) stands for, if it is no buffer
 * @SIDRA_MAP_DOORBELL: doorbell page of a context
 * @SIDRA_MAP_RING: ring memory of a queue
 * @SIDRA_MAP_STATE: state page of a queue
 *
 * The page number of an offset has 32 bits, for mmap2(2): bit 31 is set, then kind, handle of the
 * context, and number of the queue follow. GEM's offsets, for buffers, lie below.
 */
enum sidra_map_kind {
	SIDRA_MAP_DOORBELL	= 0,
	SIDRA_MAP_RING		= 1,
	SIDRA_MAP_STATE		= 2
};

#define SIDRA_MAP_OWN		BIT(31)
#define SIDRA_MAP_KIND		GENMASK(30, 29)
#define SIDRA_MAP_CONTEXT	GENMASK(28, 8)
#define SIDRA_MAP_QUEUE		GENMASK(7, 0)

/* Handles of contexts and address spaces. */
#define SIDRA_HANDLE_LIMIT	XA_LIMIT(1, FIELD_MAX(SIDRA_MAP_CONTEXT))

static inline u64 sidra_map_offset(enum sidra_map_kind kind, u32 context, u32 queue)
{
	return (u64)(SIDRA_MAP_OWN | FIELD_PREP(SIDRA_MAP_KIND, kind) |
		     FIELD_PREP(SIDRA_MAP_CONTEXT, context) | FIELD_PREP(SIDRA_MAP_QUEUE, queue))
		<< PAGE_SHIFT;
}

extern const struct vm_operations_struct sidra_local_vm_ops;

int sidra_mmap(struct file *filp, struct vm_area_struct *vma);
/* Sets up a mapping of an L3 buffer. */
int sidra_map_local(struct drm_gem_object *obj, struct vm_area_struct *vma);
/*
 * Zaps all mappings of this context's doorbell page. The next access faults, and maps the page that
 * is allowed then.
 */
void sidra_map_zap_doorbell(struct sidra_ctx *ctx);
/* Shows or hides L3 in all mappings: it must not be accessed during a suspend or a bus reset. */
void sidra_map_show_local(struct sidra_device *sdev, bool show);

#endif
