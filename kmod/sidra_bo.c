// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>

#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "sidra_admin.h"
#include "sidra_bo.h"
#include "sidra_call.h"
#include "sidra_compat.h"
#include "sidra_device.h"
#include "sidra_dma.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_l3.h"
#include "sidra_map.h"
#include "sidra_mmu.h"
#include "sidra_peer.h"
#include "sidra_refusal.h"
#include "sidra_vm.h"

#define SIZE_LIMIT	(SIDRA_VA_END - SIDRA_VA_BEGIN)
#define BIND_FLAGS	(SIDRA_BIND_READ | SIDRA_BIND_WRITE | SIDRA_BIND_FIXED)
#define PIN_BATCH	(PAGE_SIZE / sizeof(struct page *))

MODULE_IMPORT_NS("DMA_BUF");

/* ---- Mapping for DMA ---- */

/*
 * Refuses a mapping with bounce buffers: the chip would access a copy, not the memory that the
 * application sees.
 */
static int sidra_bo_check_direct(struct sidra_device *sdev, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (sidra_dma_bounced(sdev->drm.dev, sg_dma_address(sg)))
			return -EOPNOTSUPP;
	return 0;
}

/*
 * Returns the pages of a host or user buffer. May take long: it allocates and pins the pages of a
 * host buffer.
 */
static struct sg_table *sidra_bo_take_pages(struct sidra_bo *bo)
{
	struct sg_table *sgt;
	int ret;

	if (bo->kind == SIDRA_BO_USER)
		return &bo->pinned.sgt;
	if (bo->exporter)	/* an import; the device has been removed */
		return ERR_PTR(-ENODEV);
	ret = drm_gem_shmem_pin(&bo->base);
	if (ret)
		return ERR_PTR(ret);
	sgt = drm_gem_shmem_get_sg_table(&bo->base);
	if (IS_ERR(sgt))
		drm_gem_shmem_unpin(&bo->base);
	return sgt;
}

static void sidra_bo_put_pages(struct sidra_bo *bo, struct sg_table *sgt)
{
	if (bo->kind != SIDRA_BO_HOST)
		return;
	sg_free_table(sgt);
	kfree(sgt);
	drm_gem_shmem_unpin(&bo->base);
}

/*
 * Makes sure that the mapping is undone when the buffer is freed or the device is removed. Inside
 * drm_dev_enter().
 */
static void sidra_bo_track_mapping(struct sidra_device *sdev, struct sidra_bo *bo,
				   struct sg_table *sgt)
{
	guard(mutex)(&sdev->bo_lock);
	WRITE_ONCE(bo->sgt, sgt);
	list_add(&bo->link, &sdev->bos);
}

/*
 * Takes a mapped buffer off the device's list: @bo, or any if that is NULL. Who gets one calls
 * sidra_bo_undo_mapping(). NULL: it was not mapped, or somebody else undoes that; there is none.
 */
static struct sidra_bo *sidra_bo_untrack_mapping(struct sidra_device *sdev, struct sidra_bo *bo)
{
	guard(mutex)(&sdev->bo_lock);
	if (!bo)
		bo = list_first_entry_or_null(&sdev->bos, struct sidra_bo, link);
	else if (!bo->sgt || list_empty(&bo->link))
		bo = NULL;
	if (bo) {
		list_del_init(&bo->link);
		atomic_inc(&sdev->bos_unmapping);
	}
	return bo;
}

/* Without a lock of the device's: the memory can be large, and its exporter busy. */
static void sidra_bo_undo_mapping(struct sidra_device *sdev, struct sidra_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct dma_buf_attachment *attach = obj->import_attach;

	if (attach) {
		bo->exporter = attach->dmabuf;
		/* PRIME_HANDLE_TO_FD reads it. Without one, no pages are freed with the buffer */
		scoped_guard(mutex, &obj->dev->object_name_lock)
			obj->import_attach = NULL;
		dma_resv_lock(bo->exporter->resv, NULL);
		dma_buf_unmap_attachment(attach, bo->sgt, bo->direction);
		if (bo->kind == SIDRA_BO_PEER)
			dma_buf_unpin(attach);
		dma_resv_unlock(bo->exporter->resv);
		/* Many exporters keep the mapping until the importer detaches. */
		dma_buf_detach(bo->exporter, attach);
		bo->base.sgt = NULL;
	} else {
		dma_unmap_sgtable(obj->dev->dev, bo->sgt, bo->direction, SIDRA_DMA_ATTRS);
		sidra_bo_put_pages(bo, bo->sgt);
	}
	/* Last: it may be freed now, see sidra_bo_unmap() */
	smp_store_release(&bo->sgt, NULL);
	atomic_dec(&sdev->bos_unmapping);
	smp_mb__after_atomic();	/* both before the look for who waits */
	wake_up_var(&sdev->bos_unmapping);
}

/* On return the buffer is not mapped for DMA. The device's removal may be what undoes that. */
static void sidra_bo_unmap(struct sidra_device *sdev, struct sidra_bo *bo)
{
	if (sidra_bo_untrack_mapping(sdev, bo))
		sidra_bo_undo_mapping(sdev, bo);
	else
		/* Pairs with sidra_bo_undo_mapping() */
		wait_var_event(&sdev->bos_unmapping, !smp_load_acquire(&bo->sgt));
}

static int sidra_bo_map_pages(struct sidra_device *sdev, struct sidra_bo *bo, struct sg_table *sgt)
{
	int ret, idx;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	ret = dma_map_sgtable(sdev->drm.dev, sgt, bo->direction, SIDRA_DMA_ATTRS);
	if (!ret) {
		ret = sidra_bo_check_direct(sdev, sgt);
		if (ret)
			dma_unmap_sgtable(sdev->drm.dev, sgt, bo->direction, SIDRA_DMA_ATTRS);
		else
			sidra_bo_track_mapping(sdev, bo, sgt);
	}
	drm_dev_exit(idx);
	return ret;
}

static int sidra_bo_map(struct sidra_device *sdev, struct sidra_bo *bo)
{
	struct sg_table *sgt;
	int ret;

	if (bo->kind == SIDRA_BO_LOCAL || bo->kind == SIDRA_BO_PEER)	/* that one at its import */
		return 0;
	ret = mutex_lock_killable(&bo->dma_lock);
	if (ret)
		return ret;
	if (!smp_load_acquire(&bo->sgt)) {	/* pairs with sidra_bo_undo_mapping() */
		sgt = sidra_bo_take_pages(bo);
		ret = IS_ERR(sgt) ? PTR_ERR(sgt) : sidra_bo_map_pages(sdev, bo, sgt);
		if (ret && !IS_ERR(sgt))
			sidra_bo_put_pages(bo, sgt);
	}
	mutex_unlock(&bo->dma_lock);
	return ret;
}

void sidra_bo_unmap_all(struct sidra_device *sdev)
{
	struct sidra_bo *bo;

	while ((bo = sidra_bo_untrack_mapping(sdev, NULL)))
		sidra_bo_undo_mapping(sdev, bo);
	wait_var_event(&sdev->bos_unmapping, !atomic_read(&sdev->bos_unmapping));
}

/* ---- Objects ---- */

static void sidra_bo_unpin(struct sidra_bo *bo)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&bo->pinned.sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg),
						 DIV_ROUND_UP(sg->offset + sg->length, PAGE_SIZE),
						 !bo->readonly);
	sg_free_append_table(&bo->pinned);
}

static void sidra_bo_uncharge(struct mm_struct *mm, unsigned long pages)
{
	atomic64_sub(pages, &mm->pinned_vm);
	mmdrop(mm);
}

static void sidra_bo_free(struct drm_gem_object *obj)
{
	struct sidra_bo *bo = to_sidra_bo(obj);
	struct sidra_device *sdev = to_sidra(obj->dev);
	struct dma_buf *exporter;

	sidra_bo_unmap(sdev, bo);
	exporter = bo->exporter;
	if (bo->kind == SIDRA_BO_HOST) {
		drm_gem_shmem_free(&bo->base);	/* takes the exporter's lock */
		if (exporter)
			dma_buf_put(exporter);
		return;
	}
	if (bo->part)
		sidra_l3_free(sdev, bo->part);
	if (bo->user)
		sidra_user_uncharge(sdev, bo->user, SIDRA_RESOURCE_L3, obj->size);
	if (bo->mm) {
		sidra_bo_unpin(bo);
		sidra_bo_uncharge(bo->mm, bo->pages);
	}
	drm_gem_object_release(obj);
	kfree(bo);
	if (exporter)
		dma_buf_put(exporter);
}

/* A handle is being closed: drops all bindings of the buffer in the file's address spaces. */
static void sidra_bo_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_device *sdev = to_sidra(obj->dev);

	guard(rwsem_read)(&sdev->reset_lock);
	sidra_vm_drop_buffer(&sfile->vms, obj);
}

static struct dma_buf *sidra_bo_no_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/*
 * No call tells the offset of an import, but it can be guessed. The removal of the device detaches
 * it from its exporter, and then it would be taken for a buffer with pages of its own.
 */
static int sidra_bo_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	return obj->filp ? drm_gem_shmem_object_mmap(obj, vma) : -EINVAL;
}

static const struct drm_gem_object_funcs host_funcs = {
	.free = sidra_bo_free,
	.close = sidra_bo_close,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = sidra_bo_mmap,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

static const struct drm_gem_object_funcs local_funcs = {
	.free = sidra_bo_free,
	.close = sidra_bo_close,
	.export = sidra_peer_export,
	.mmap = sidra_map_local,
	.vm_ops = &sidra_local_vm_ops,
};

/*
 * Memory of the caller, or of another card. It has no offset to map it by: the caller has it mapped
 * already, or maps it through that card.
 */
static const struct drm_gem_object_funcs foreign_funcs = {
	.free = sidra_bo_free,
	.close = sidra_bo_close,
	.export = sidra_bo_no_export,
};

struct drm_gem_object *sidra_bo_create_object(struct drm_device *drm, size_t size)
{
	struct sidra_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->base.base.funcs = &host_funcs;
	bo->kind = SIDRA_BO_HOST;
	bo->direction = DMA_BIDIRECTIONAL;
	mutex_init(&bo->dma_lock);
	/*
	 * Mappings by page frame set no dirty bits. Without this, reclaim could discard what was
	 * written.
	 */
	bo->base.pages_mark_dirty_on_put = true;
	bo->base.pages_mark_accessed_on_put = true;
	return &bo->base.base;
}

static struct sidra_bo *sidra_bo_create_private(struct drm_device *drm, u64 size,
						enum sidra_bo_kind kind,
						const struct drm_gem_object_funcs *funcs)
{
	struct sidra_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->kind = kind;
	bo->direction = DMA_BIDIRECTIONAL;
	mutex_init(&bo->dma_lock);
	INIT_LIST_HEAD(&bo->link);
	bo->base.base.funcs = funcs;
	drm_gem_private_object_init(drm, &bo->base.base, size);
	return bo;
}

/*
 * The exporter has revoked it: without bindings, its pages can be unmapped. Who binds it holds the
 * lock of an address space, and either sees under it that the buffer is revoked, or has ended when
 * this takes that lock. An address space that is created meanwhile is bound to by the former only.
 */
static void sidra_bo_drop_work(struct work_struct *work)
{
	struct sidra_bo *bo = container_of(work, struct sidra_bo, drop_work);
	struct drm_gem_object *obj = &bo->base.base;
	struct drm_device *drm = obj->dev;
	struct sidra_device *sdev = to_sidra(drm);

	mutex_lock(&bo->dma_lock);	/* its import has come to its end */
	mutex_unlock(&bo->dma_lock);
	scoped_guard(rwsem_read, &sdev->reset_lock)
		sidra_vm_drop_buffer(&sdev->vms, obj);
	sidra_bo_unmap(sdev, bo);
	drm_gem_object_put(obj);
	drm_dev_put(drm);
}

static struct sg_table *sidra_bo_map_peer(struct sidra_bo *bo, struct dma_buf_attachment *attach)
{
	struct sg_table *sgt;
	int ret;

	dma_resv_lock(attach->dmabuf->resv, NULL);
	ret = dma_buf_pin(attach);
	sgt = ret ? ERR_PTR(ret) : dma_buf_map_attachment(attach, bo->direction);
	if (IS_ERR(sgt) && !ret)
		dma_buf_unpin(attach);
	dma_resv_unlock(attach->dmabuf->resv);
	return sgt;
}

/* Inside drm_dev_enter(). */
static struct drm_gem_object *sidra_bo_import_peer(struct sidra_device *sdev,
						   struct dma_buf *dma_buf)
{
	struct sidra_bo *bo = sidra_bo_create_private(&sdev->drm, dma_buf->size, SIDRA_BO_PEER,
						      &foreign_funcs);
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;

	if (IS_ERR(bo))
		return ERR_CAST(bo);
	INIT_WORK(&bo->drop_work, sidra_bo_drop_work);
	scoped_guard(mutex, &bo->dma_lock) {
		attach = dma_buf_dynamic_attach(dma_buf, sdev->drm.dev, &sidra_peer_importer_ops,
						bo);
		sgt = IS_ERR(attach) ? ERR_CAST(attach) : sidra_bo_map_peer(bo, attach);
		if (!IS_ERR(sgt)) {
			get_dma_buf(dma_buf);
			bo->base.base.import_attach = attach;
			sidra_bo_track_mapping(sdev, bo, sgt);
		}
	}
	if (!IS_ERR(sgt))
		return &bo->base.base;
	if (!IS_ERR(attach))
		dma_buf_detach(dma_buf, attach);
	drm_gem_object_put(&bo->base.base);
	return ERR_CAST(sgt);
}

static struct drm_gem_object *sidra_bo_import(struct sidra_device *sdev, struct dma_buf *dma_buf)
{
	struct drm_gem_object *exported = sidra_peer_exported(dma_buf), *obj;
	int ret;

	if (exported && exported->dev == &sdev->drm) {
		drm_gem_object_get(exported);
		return exported;
	}
	if (exported)
		return sidra_bo_import_peer(sdev, dma_buf);
	obj = drm_gem_prime_import(&sdev->drm, dma_buf);
	if (IS_ERR(obj) || !obj->import_attach)	/* this device exported it */
		return obj;
	ret = sidra_bo_check_direct(sdev, to_sidra_bo(obj)->base.sgt);
	if (ret) {
		drm_gem_object_put(obj);
		return ERR_PTR(ret);
	}
	sidra_bo_track_mapping(sdev, to_sidra_bo(obj), to_sidra_bo(obj)->base.sgt);
	return obj;
}

/*
 * The exporter may sleep inside drm_dev_enter() while it maps, but waits for nothing that a program
 * can delay.
 */
struct drm_gem_object *sidra_bo_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = sidra_bo_import(to_sidra(drm), dma_buf);
	drm_dev_exit(idx);
	return obj;
}

static struct sidra_l3_part *sidra_bo_alloc_part(struct sidra_device *sdev, u64 size)
{
	CLASS(sidra_call, call)(sdev, NULL);
	return call.error ? ERR_PTR(call.error) : sidra_l3_alloc(sdev, size);
}

static struct drm_gem_object *sidra_bo_create_local(struct sidra_device *sdev,
						    struct sidra_user *user, u64 size)
{
	struct sidra_bo *bo = sidra_bo_create_private(&sdev->drm, size, SIDRA_BO_LOCAL,
						      &local_funcs);
	struct sidra_l3_part *part;
	int ret;

	if (IS_ERR(bo))
		return ERR_CAST(bo);
	ret = sidra_user_charge(sdev, user, SIDRA_RESOURCE_L3, size);
	if (ret) {
		drm_gem_object_put(&bo->base.base);
		return ERR_PTR(ret);
	}
	bo->user = user;
	part = sidra_bo_alloc_part(sdev, size);
	if (IS_ERR(part)) {
		drm_gem_object_put(&bo->base.base);
		return ERR_CAST(part);
	}
	bo->part = part;
	return &bo->base.base;
}

static struct drm_gem_object *sidra_bo_create_host(struct sidra_device *sdev, u64 size)
{
	struct drm_gem_shmem_object *shmem;

	/* It could never be bound, but the list of its pages would be allocated. */
	if (size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);
	shmem = drm_gem_shmem_create(&sdev->drm, size);
	return IS_ERR(shmem) ? ERR_CAST(shmem) : &shmem->base;
}

int sidra_buffer_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_buffer_create *args = data;
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_device *sdev = to_sidra(drm);
	struct drm_gem_object *obj;
	int ret;

	args->handle = 0;
	args->mmap_offset = 0;
	ret = sidra_check_device(sdev) ?:
		sidra_check_bits(file, args->flags, SIDRA_BUFFER_LOCAL) ?:
		sidra_check_arg(file, args->size, args->size && args->size <= SIZE_LIMIT);
	if (ret)
		return ret;
	args->size = PAGE_ALIGN(args->size);
	if (args->flags & SIDRA_BUFFER_LOCAL)
		obj = sidra_bo_create_local(sdev, sfile->user, args->size);
	else
		obj = sidra_bo_create_host(sdev, args->size);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = drm_gem_create_mmap_offset(obj);
	if (!ret)
		ret = drm_gem_handle_create(file, obj, &args->handle);
	if (!ret)
		args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);
	return ret;
}

/* ---- Memory of the caller ---- */

static int sidra_bo_charge(struct sidra_bo *bo, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 now = atomic64_add_return(pages, &current->mm->pinned_vm);

	if (now > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &current->mm->pinned_vm);
		drm_dbg(bo->base.base.dev, "RLIMIT_MEMLOCK: %lu pages, %llu would be pinned\n",
			limit, now);
		return -EDQUOT;
	}
	mmgrab(current->mm);
	bo->mm = current->mm;
	bo->pages = pages;
	return 0;
}

static int sidra_bo_pin(struct sidra_device *sdev, struct sidra_bo *bo, u64 start,
			struct page **batch)
{
	unsigned int flags = FOLL_LONGTERM | (bo->readonly ? 0 : FOLL_WRITE);
	unsigned long left = bo->pages;

	while (left) {
		unsigned long want = min(left, PIN_BATCH);
		int got, ret;

		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast(start, want, flags, batch);
		if (got <= 0)
			return got == -ENOMEM ? got : -EFAULT;
		ret = sg_alloc_append_table_from_pages(&bo->pinned, batch, got, 0,
						       (u64)got << PAGE_SHIFT, UINT_MAX, left - got,
						       GFP_KERNEL_ACCOUNT);
		if (ret) {
			unpin_user_pages(batch, got);
			return ret;
		}
		atomic64_add(got, &sdev->counters.pins);
		start += (u64)got << PAGE_SHIFT;
		left -= got;
		cond_resched();
	}
	return 0;
}

static int sidra_bo_pin_all(struct sidra_device *sdev, struct sidra_bo *bo, u64 start, u64 size)
{
	struct page **batch __free(kfree) = NULL;
	int ret = sidra_bo_charge(bo, size >> PAGE_SHIFT);

	if (ret)
		return ret;
	batch = kmalloc_array(PIN_BATCH, sizeof(*batch), GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	return sidra_bo_pin(sdev, bo, start, batch);
}

int sidra_buffer_register_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_buffer_register *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	u64 offset, start, size;
	struct sidra_bo *bo;
	int ret;

	args->handle = 0;
	ret = sidra_check_device(sdev) ?:
		sidra_check_bits(file, args->flags, SIDRA_REGISTER_READONLY) ?:
		sidra_check_arg(file, args->size,
				args->size && args->size <= SIZE_LIMIT - 2 * PAGE_SIZE &&
				args->address + args->size + PAGE_SIZE >= args->address);
	if (ret)
		return ret;
	offset = offset_in_page(args->address);
	start = args->address - offset;
	size = PAGE_ALIGN(offset + args->size);
	if (!access_ok(u64_to_user_ptr(start), size))
		return sidra_refuse(file, args->address, -EFAULT);
	bo = sidra_bo_create_private(drm, size, SIDRA_BO_USER, &foreign_funcs);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->first = offset;
	bo->readonly = args->flags & SIDRA_REGISTER_READONLY;
	if (bo->readonly)
		bo->direction = DMA_TO_DEVICE;
	ret = sidra_bo_pin_all(sdev, bo, start, size);
	if (ret == -EFAULT)
		sidra_refuse(file, args->address, ret);
	if (!ret)
		ret = drm_gem_handle_create(file, &bo->base.base, &args->handle);
	drm_gem_object_put(&bo->base.base);
	return ret;
}

/*
 * Closing a handle cannot fail: waits before that until nobody has the locks that it takes, or a
 * fatal signal comes. Others may take them in between, and sidra_bo_close() waits for these.
 */
static int sidra_bo_await_close(struct sidra_file *sfile, const struct drm_gem_object *obj)
{
	CLASS(sidra_lock, locked)(sfile->sdev, NULL);
	return locked.error ?: sidra_vm_await_drop(sfile->sdev, &sfile->vms, obj);
}

int sidra_buffer_close_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_buffer_close *args = data;
	struct drm_gem_object *obj;
	int ret = sidra_check_zero(file, args->flags);

	if (ret)
		return ret;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return sidra_refuse(file, args->handle, -ENOENT);
	ret = sidra_bo_await_close(file->driver_priv, obj);
	drm_gem_object_put(obj);
	if (ret)
		return ret;
	if (drm_gem_handle_delete(file, args->handle))
		return sidra_refuse(file, args->handle, -ENOENT);
	return 0;
}

/* ---- Binding ---- */

static int sidra_bo_map_binding(struct sidra_vm *vm, struct sidra_bo *bo, u64 va, u64 size,
				u64 flags)
{
	if (bo->kind == SIDRA_BO_LOCAL)
		return sidra_mmu_map_local(vm, va, bo->part->offset, size, flags);
	return sidra_mmu_map_sgt(vm, va, bo->sgt, 0, size, flags);
}

static int sidra_bo_reserve(struct sidra_vm *vm, struct sidra_bo *bo, u64 fixed, u64 *va)
{
	u64 bus = bo->kind == SIDRA_BO_LOCAL ? bo->part->offset : sg_dma_address(bo->sgt->sgl);

	if (!fixed)
		return sidra_mmu_reserve(vm, bo->base.base.size, bus, va);
	*va = fixed - bo->first;
	return sidra_mmu_reserve_at(vm, *va, bo->base.base.size);
}

static int sidra_bo_bind(struct sidra_vm *vm, struct sidra_bo *bo, u32 handle, u64 flags, u64 fixed,
			 u64 *address)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct sidra_binding *binding;
	u64 va;
	int ret;

	lockdep_assert_held(&vm->lock);
	/* First: the mapping may be undone meanwhile, see sidra_bo_drop_work() */
	if (READ_ONCE(bo->revoked) || (!bo->sgt && bo->kind != SIDRA_BO_LOCAL))
		return -ENODEV;
	if (vm->binding_count == SIDRA_BINDINGS_MAX)
		return -ENOSPC;
	ret = sidra_bo_reserve(vm, bo, fixed, &va);
	if (ret)
		return ret;
	binding = kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	if (!binding) {
		ret = -ENOMEM;
		goto err_unmap;
	}
	ret = xa_insert(&vm->bindings, (va + bo->first) >> PAGE_SHIFT, binding, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_free;
	ret = sidra_bo_map_binding(vm, bo, va, obj->size, flags);
	if (ret)
		goto err_erase;
	*binding = (struct sidra_binding){
		.obj = obj,
		.handle = handle,
		.va = va,
		.size = obj->size,
	};
	vm->binding_count++;
	drm_gem_object_get(obj);
	*address = va + bo->first;
	return 0;

err_erase:
	xa_erase(&vm->bindings, (va + bo->first) >> PAGE_SHIFT);
err_free:
	kfree(binding);
err_unmap:
	sidra_mmu_unmap(vm, va, obj->size);
	return ret;
}

/*
 * Whether the handle is still open. Closing it drops its bindings, so no binding may be added
 * afterwards.
 */
static bool sidra_bo_handle_refers_to(struct drm_file *file, u32 handle, struct drm_gem_object *obj)
{
	struct drm_gem_object *now = drm_gem_object_lookup(file, handle);

	if (now)
		drm_gem_object_put(now);
	return now == obj;
}

int sidra_buffer_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_buffer_bind *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_vm *vm __free(sidra_vm) = NULL;
	struct drm_gem_object *obj;
	struct sidra_bo *bo;
	u64 flags = SIDRA_PTE_READ, fixed = args->address;
	int ret;

	args->address = 0;
	ret = sidra_check_bits(file, args->flags, BIND_FLAGS) ?:
		sidra_check_arg(file, args->flags, args->flags & SIDRA_BIND_READ) ?:
		sidra_check_zero(file, args->pad) ?:
		sidra_check_zero(file, args->reserved[0]) ?:
		sidra_check_zero(file, args->reserved[1]);
	if (ret)
		return ret;
	if (!(args->flags & SIDRA_BIND_FIXED) != !fixed)
		return sidra_refusal_note(file, "address", fixed, -EINVAL);
	vm = sidra_vm_find(file->driver_priv, args->vm);
	if (!vm)
		return sidra_refuse(file, args->vm, -ENOENT);
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return sidra_refuse(file, args->handle, -ENOENT);
	bo = to_sidra_bo(obj);
	if (args->flags & SIDRA_BIND_WRITE)
		flags |= SIDRA_PTE_WRITE;
	if (fixed && offset_in_page(fixed) != bo->first)
		ret = sidra_refusal_note(file, "address", fixed, -EINVAL);
	else if (bo->readonly && (args->flags & SIDRA_BIND_WRITE))
		ret = sidra_refuse(file, args->flags, -EACCES);
	else
		ret = sidra_bo_map(sdev, bo);
	if (!ret) {
		CLASS(sidra_call, call)(sdev, &vm->lock);
		ret = call.error;
		if (!ret && vm->dead)
			ret = sidra_refuse(file, args->vm, -ENOENT);
		if (!ret && !sidra_bo_handle_refers_to(file, args->handle, obj))
			ret = sidra_refuse(file, args->handle, -ENOENT);
		if (!ret)
			ret = sidra_bo_bind(vm, bo, args->handle, flags, fixed, &args->address);
		if (fixed && (ret == -EINVAL || ret == -EEXIST))
			sidra_refusal_note(file, "address", fixed, ret);
	}
	drm_gem_object_put(obj);
	return ret;
}

int sidra_buffer_unbind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_buffer_unbind *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_vm *vm __free(sidra_vm) = sidra_vm_find(file->driver_priv, args->vm);
	struct sidra_binding *binding;
	int ret;

	if (!vm)
		return sidra_refuse(file, args->vm, -ENOENT);

	CLASS(sidra_lock, locked)(sdev, &vm->lock);
	if (locked.error)
		return locked.error;
	if (vm->dead)
		return sidra_refuse(file, args->vm, -ENOENT);
	binding = xa_load(&vm->bindings, args->address >> PAGE_SHIFT);
	if (!binding || binding->va + to_sidra_bo(binding->obj)->first != args->address)
		return sidra_refuse(file, args->address, -ENOENT);
	if (binding->handle != args->handle)
		return sidra_refuse(file, args->handle, -ENOENT);
	ret = sidra_admin_await_turn(sdev);
	if (!ret)
		sidra_binding_drop(vm, binding);
	return ret;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_bo_kunit.c"
#endif
