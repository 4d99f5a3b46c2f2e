/* SPDX-License-Identifier: GPL-2.0-only */
/* Address spaces: objects that contexts of one file share. */
#ifndef __SIDRA_VM_H__
#define __SIDRA_VM_H__

#include <linux/bits.h>
#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "sidra_file.h"
#include "sidra_ptab.h"
#include "sidra_range.h"

/* For an address space: so many are dropped in less than a second, in which others may wait. */
#define SIDRA_BINDINGS_MAX	BIT(20)

struct drm_gem_object;
struct sidra_device;

/**
 * struct sidra_binding - a buffer in an address space
 * @obj: the buffer, with a reference until the mapping is quiesced
 * @handle: handle that it was bound with
 * @va: device address of its first page
 * @size: in bytes
 */
struct sidra_binding {
	struct drm_gem_object *obj;
	u32 handle;
	u64 va;
	u64 size;
};

/**
 * struct sidra_vm - an address space; protected by @lock where nothing else is said
 * @lock: of the address space
 * @ref: held by the file's table, by contexts, and by calls in progress
 * @sdev: the device; constant
 * @id: its place in sidra_device.vms while it is not @dead
 * @handle: its handle in the file; constant
 * @dead: it was destroyed; only this struct is left
 * @ctxs: contexts that use it, struct sidra_ctx by vm_link
 * @ptab: page tables
 * @addresses: addresses that are free
 * @next_address: where the next allocation begins. An address is not reused before all others were:
 *                queued packets and recorded graphs may still name a freed object, and must fault
 *                instead of using another one
 * @bindings: struct sidra_binding by page of the address that BIND returned
 * @binding_count: their number
 */
struct sidra_vm {
	struct mutex lock;	/* of the address space */
	struct kref ref;
	struct sidra_device *sdev;
	u32 id;
	u32 handle;
	bool dead;
	struct list_head ctxs;
	struct sidra_ptab ptab;
	struct sidra_range addresses;
	u64 next_address;
	struct xarray bindings;
	u32 binding_count;
};

static inline void sidra_vm_release(struct kref *ref)
{
	struct sidra_vm *vm = container_of(ref, struct sidra_vm, ref);

	mutex_destroy(&vm->lock);
	kfree(vm);
}

static inline struct sidra_vm *sidra_vm_get(struct sidra_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

static inline void sidra_vm_put(struct sidra_vm *vm)
{
	if (vm)
		kref_put(&vm->ref, sidra_vm_release);
}

DEFINE_FREE(sidra_vm, struct sidra_vm *, sidra_vm_put(_T))

/*
 * For loops over all address spaces of a file by handle, or of the device by id: drops the
 * reference to @last, and returns the next one with a reference, or NULL. At first @last is NULL,
 * and @index 0.
 */
static inline struct sidra_vm *sidra_vm_next(struct xarray *vms, struct sidra_vm *last,
					     unsigned long *index)
{
	struct sidra_vm *vm;

	if (last) {
		sidra_vm_put(last);
		++*index;
	}
	xa_lock(vms);
	vm = xa_find(vms, index, ULONG_MAX, XA_PRESENT);
	if (vm)
		sidra_vm_get(vm);
	xa_unlock(vms);
	return vm;
}

/* Returns the address space with a reference, or NULL if the file has no such handle. */
static inline struct sidra_vm *sidra_vm_find(struct sidra_file *sfile, u32 handle)
{
	struct sidra_vm *vm;

	xa_lock(&sfile->vms);
	vm = xa_load(&sfile->vms, handle);
	if (vm)
		sidra_vm_get(vm);
	xa_unlock(&sfile->vms);
	return vm;
}

/*
 * Removes a binding: clears its page table entries, waits until the chip no longer uses them, and
 * drops the buffer. Under sidra_vm.lock.
 */
void sidra_binding_drop(struct sidra_vm *vm, struct sidra_binding *binding);

/* Removes all bindings of a buffer from the address spaces; see sidra_vm_next(). */
void sidra_vm_drop_buffer(struct xarray *vms, const struct drm_gem_object *obj);

/*
 * For calls that end queues, which cannot fail once they have begun: waits until nobody has the
 * lock of the address space, nor the channel of commands; -EINTR if a fatal signal comes first.
 */
int sidra_vm_await_turn(struct sidra_vm *vm);

/*
 * The same before sidra_vm_drop_buffer(): waits for each address space in turn, and for the channel
 * of commands if the chip uses the buffer.
 */
int sidra_vm_await_drop(struct sidra_device *sdev, struct xarray *vms,
			const struct drm_gem_object *obj);

/* Destroys all address spaces of the device, or of a file. No context uses them any more. */
void sidra_vm_destroy_device(struct sidra_device *sdev);
void sidra_vm_destroy_file(struct sidra_file *sfile);

#endif
