// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>

#include <drm/drm_gem.h>

#include "sidra_bo.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_map.h"
#include "sidra_queue.h"

/*
 * ---- Device pages. While access is not allowed, a mapping shows a private page of the file
 * instead ----
 */

static vm_fault_t sidra_map_insert_device_page(struct vm_fault *vmf, phys_addr_t address,
					       bool allowed)
{
	struct drm_file *file = vmf->vma->vm_file->private_data;
	struct sidra_file *sfile = file->driver_priv;
	unsigned long dummy = page_to_pfn(sfile->dummy);

	lockdep_assert_held(&sfile->sdev->map_lock);
	return vmf_insert_pfn(vmf->vma, vmf->address, allowed ? PHYS_PFN(address) : dummy);
}

static vm_fault_t sidra_map_doorbell_fault(struct vm_fault *vmf)
{
	struct sidra_ctx *ctx = vmf->vma->vm_private_data;
	struct sidra_device *sdev = ctx->sdev;
	u64 offset = (vmf->pgoff << PAGE_SHIFT) -
		sidra_map_offset(SIDRA_MAP_DOORBELL, ctx->handle, 0);
	phys_addr_t address;

	if (offset >= SIDRA_DOORBELL_PAGE_SIZE)
		return VM_FAULT_SIGBUS;
	guard(mutex)(&sdev->map_lock);
	address = sdev->regs_base + SIDRA_DOORBELL(ctx->slot, 0) + offset;
	return sidra_map_insert_device_page(vmf, address, !ctx->revoked);
}

static void sidra_map_doorbell_open(struct vm_area_struct *vma)
{
	sidra_ctx_get(vma->vm_private_data);
}

static void sidra_map_doorbell_close(struct vm_area_struct *vma)
{
	sidra_ctx_put(vma->vm_private_data);
}

static const struct vm_operations_struct doorbell_vm_ops = {
	.open = sidra_map_doorbell_open,
	.close = sidra_map_doorbell_close,
	.fault = sidra_map_doorbell_fault,
};

void sidra_map_zap_doorbell(struct sidra_ctx *ctx)
{
	/*
	 * All files share the address space. Mappings of other files at this offset are zapped too,
	 * and fault in again.
	 */
	unmap_mapping_range(ctx->sdev->drm.anon_inode->i_mapping,
			    sidra_map_offset(SIDRA_MAP_DOORBELL, ctx->handle, 0),
			    SIDRA_DOORBELL_PAGE_SIZE, 1);
}

static vm_fault_t sidra_map_local_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct sidra_device *sdev = to_sidra(obj->dev);
	u64 offset = (u64)(vmf->pgoff - drm_vma_node_start(&obj->vma_node)) << PAGE_SHIFT;
	phys_addr_t address;

	if (offset >= obj->size)
		return VM_FAULT_SIGBUS;
	guard(mutex)(&sdev->map_lock);
	address = sdev->l3.base + to_sidra_bo(obj)->part->offset + offset;
	return sidra_map_insert_device_page(vmf, address, !sdev->l3.hidden);
}

void sidra_map_show_local(struct sidra_device *sdev, bool show)
{
	scoped_guard(mutex, &sdev->map_lock)
		sdev->l3.hidden = !show;
	/* Zaps all mappings of buffers; those of host memory fault in again. */
	unmap_mapping_range(sdev->drm.anon_inode->i_mapping, 0, (loff_t)SIDRA_MAP_OWN << PAGE_SHIFT,
			    1);
}

const struct vm_operations_struct sidra_local_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = sidra_map_local_fault,
};

int sidra_map_local(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_writecombine(vm_get_page_prot(vma->vm_flags));
	return 0;
}

/*
 * ---- Ring memory and state page. The memory stays until the last mapping is gone, even if the
 * queue is destroyed ----
 */

static void sidra_map_queue_open(struct vm_area_struct *vma)
{
	sidra_queue_get(vma->vm_private_data);
}

static void sidra_map_queue_close(struct vm_area_struct *vma)
{
	sidra_queue_put(vma->vm_private_data);
}

static vm_fault_t sidra_map_ring_fault(struct vm_fault *vmf)
{
	struct sidra_queue *queue = vmf->vma->vm_private_data;
	u64 page = vmf->pgoff -
		(sidra_map_offset(SIDRA_MAP_RING, queue->ctx_handle, queue->number) >> PAGE_SHIFT);

	if (page >= queue->page_count)
		return VM_FAULT_SIGBUS;
	vmf->page = queue->pages[page];
	get_page(vmf->page);
	return 0;
}

static vm_fault_t sidra_map_state_fault(struct vm_fault *vmf)
{
	struct sidra_queue *queue = vmf->vma->vm_private_data;

	vmf->page = queue->state_page;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct ring_vm_ops = {
	.open = sidra_map_queue_open,
	.close = sidra_map_queue_close,
	.fault = sidra_map_ring_fault,
};

static const struct vm_operations_struct state_vm_ops = {
	.open = sidra_map_queue_open,
	.close = sidra_map_queue_close,
	.fault = sidra_map_state_fault,
};

/* ---- mmap(2) ---- */

static int sidra_map_map_doorbell(struct sidra_file *sfile, u32 handle, struct vm_area_struct *vma)
{
	struct sidra_ctx *ctx;

	if (vma->vm_end - vma->vm_start > SIDRA_DOORBELL_PAGE_SIZE)
		return -EINVAL;
	ctx = sidra_ctx_find(sfile, handle);
	if (!ctx)
		return -ENOENT;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_noncached(vm_get_page_prot(vma->vm_flags));
	vma->vm_private_data = ctx;	/* takes over the reference */
	vma->vm_ops = &doorbell_vm_ops;
	return 0;
}

static int sidra_map_map_queue_page(struct sidra_queue *queue, enum sidra_map_kind kind,
				    struct vm_area_struct *vma)
{
	u64 size = vma->vm_end - vma->vm_start;

	if (kind == SIDRA_MAP_STATE) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		if (size > PAGE_SIZE)
			return -EINVAL;
		vm_flags_clear(vma, VM_MAYWRITE);
		vma->vm_ops = &state_vm_ops;
	} else {
		if (queue->kind != SIDRA_QUEUE_USER)
			return -EACCES;
		if (size > (u64)queue->page_count << PAGE_SHIFT)
			return -EINVAL;
		vma->vm_ops = &ring_vm_ops;
	}
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = sidra_queue_get(queue);
	return 0;
}

static int sidra_map_map_queue(struct sidra_file *sfile, u32 handle, u32 number,
			       enum sidra_map_kind kind, struct vm_area_struct *vma)
{
	struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_find(sfile, handle);
	struct sidra_queue *queue __free(sidra_queue) = ctx ? sidra_queue_find(ctx, number) : NULL;

	return queue ? sidra_map_map_queue_page(queue, kind, vma) : -ENOENT;
}

int sidra_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct drm_file *file = filp->private_data;
	struct sidra_file *sfile = file->driver_priv;
	u32 page = vma->vm_pgoff, kind = FIELD_GET(SIDRA_MAP_KIND, page);
	u32 handle = FIELD_GET(SIDRA_MAP_CONTEXT, page), queue = FIELD_GET(SIDRA_MAP_QUEUE, page);

	if (!(vma->vm_pgoff & SIDRA_MAP_OWN) || vma->vm_pgoff > U32_MAX)
		return drm_gem_mmap(filp, vma);
	if (READ_ONCE(sfile->sdev->gone))
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	switch (kind) {
	case SIDRA_MAP_DOORBELL:
		return queue ? -EINVAL : sidra_map_map_doorbell(sfile, handle, vma);
	case SIDRA_MAP_RING:
	case SIDRA_MAP_STATE:
		return sidra_map_map_queue(sfile, handle, queue, kind, vma);
	default:
		return -EINVAL;
	}
}
