// SPDX-License-Identifier: GPL-2.0-only
#include <drm/drm_device.h>

#include "sidra_admin.h"
#include "sidra_bo.h"
#include "sidra_call.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_map.h"
#include "sidra_mmu.h"
#include "sidra_mutex.h"
#include "sidra_refusal.h"
#include "sidra_vm.h"

static struct sidra_vm *sidra_vm_create(struct sidra_device *sdev)
{
	struct sidra_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!vm)
		return ERR_PTR(-ENOMEM);
	kref_init(&vm->ref);
	mutex_init(&vm->lock);
	vm->sdev = sdev;
	INIT_LIST_HEAD(&vm->ctxs);
	xa_init_flags(&vm->bindings, XA_FLAGS_ACCOUNT);
	ret = sidra_mmu_init(vm);
	if (!ret)
		return vm;
	kfree(vm);
	return ERR_PTR(ret);
}

/* The chip has acknowledged that it no longer uses the pages: this may free them. */
static void sidra_vm_free_binding(struct sidra_vm *vm, struct sidra_binding *binding)
{
	struct sidra_bo *bo = to_sidra_bo(binding->obj);

	xa_erase(&vm->bindings, (binding->va + bo->first) >> PAGE_SHIFT);
	vm->binding_count--;
	sidra_mmu_free(vm, binding->va, binding->size);
	drm_gem_object_put(binding->obj);
	kfree(binding);
}

void sidra_binding_drop(struct sidra_vm *vm, struct sidra_binding *binding)
{
	lockdep_assert_held(&vm->lock);
	sidra_mmu_clear(vm, binding->va, binding->size);
	sidra_mmu_quiesce(vm, binding->va, binding->size);
	sidra_vm_free_binding(vm, binding);
}

/*
 * Drops the bindings of a buffer, or all if @obj is NULL. Waits for the chip once for each context,
 * however many there are: others may wait for the caller meanwhile.
 */
static void sidra_vm_drop_bindings(struct sidra_vm *vm, const struct drm_gem_object *obj)
{
	u64 begin = U64_MAX, end = 0;
	struct sidra_binding *binding;
	unsigned long page;

	lockdep_assert_held(&vm->lock);
	xa_for_each(&vm->bindings, page, binding) {
		cond_resched();
		if (obj && binding->obj != obj)
			continue;
		sidra_mmu_clear(vm, binding->va, binding->size);
		begin = min(begin, binding->va);
		end = max(end, binding->va + binding->size);
	}
	if (begin > end)
		return;
	sidra_mmu_quiesce(vm, begin, end - begin);
	xa_for_each(&vm->bindings, page, binding) {
		cond_resched();
		if (!obj || binding->obj == obj)
			sidra_vm_free_binding(vm, binding);
	}
}

void sidra_vm_drop_buffer(struct xarray *vms, const struct drm_gem_object *obj)
{
	struct sidra_vm *vm = NULL;
	unsigned long index = 0;

	while ((vm = sidra_vm_next(vms, vm, &index))) {
		guard(mutex)(&vm->lock);
		sidra_vm_drop_bindings(vm, obj);
	}
}

int sidra_vm_await_turn(struct sidra_vm *vm)
{
	CLASS(sidra_mutex, held)(&vm->lock);
	return held.error ?: sidra_admin_await_turn(vm->sdev);
}

/* Whether the chip has to acknowledge that the buffer is unbound. */
static bool sidra_vm_uses_buffer(struct sidra_vm *vm, const struct drm_gem_object *obj)
{
	struct sidra_binding *binding;
	unsigned long page;

	lockdep_assert_held(&vm->lock);
	if (list_empty(&vm->ctxs))
		return false;
	xa_for_each(&vm->bindings, page, binding) {
		cond_resched();
		if (binding->obj == obj)
			return true;
	}
	return false;
}

int sidra_vm_await_drop(struct sidra_device *sdev, struct xarray *vms,
			const struct drm_gem_object *obj)
{
	struct sidra_vm *vm = NULL;
	unsigned long index = 0;
	bool used = false;
	int ret = 0;

	while (!ret && (vm = sidra_vm_next(vms, vm, &index))) {
		CLASS(sidra_mutex, held)(&vm->lock);
		ret = held.error;
		used = used || (!ret && sidra_vm_uses_buffer(vm, obj));
	}
	sidra_vm_put(vm);
	if (ret || !used)
		return ret;
	return sidra_admin_await_turn(sdev);
}

static void sidra_vm_destroy(struct sidra_vm *vm)
{
	lockdep_assert_held(&vm->lock);
	if (vm->dead)
		return;
	sidra_vm_drop_bindings(vm, NULL);
	xa_destroy(&vm->bindings);
	sidra_mmu_fini(vm);
	xa_erase(&vm->sdev->vms, vm->id);
	vm->dead = true;
}

void sidra_vm_destroy_device(struct sidra_device *sdev)
{
	struct sidra_vm *vm = NULL;
	unsigned long id = 0;

	while ((vm = sidra_vm_next(&sdev->vms, vm, &id))) {
		guard(mutex)(&vm->lock);
		sidra_vm_destroy(vm);
	}
}

void sidra_vm_destroy_file(struct sidra_file *sfile)
{
	struct sidra_device *sdev = sfile->sdev;
	struct sidra_vm *vm = NULL;
	unsigned long handle = 0;

	guard(rwsem_read)(&sdev->reset_lock);
	while ((vm = sidra_vm_next(&sfile->vms, vm, &handle))) {
		scoped_guard(mutex, &vm->lock)
			sidra_vm_destroy(vm);
		xa_erase(&sfile->vms, handle);
		sidra_vm_put(vm);
	}
}

/* Enters it into the tables of file and device. */
static int sidra_vm_publish(struct sidra_file *sfile, struct sidra_vm *vm)
{
	int ret = xa_alloc(&sfile->sdev->vms, &vm->id, vm, xa_limit_32b, GFP_KERNEL_ACCOUNT);

	if (ret)
		return ret;
	ret = xa_alloc_cyclic(&sfile->vms, &vm->handle, vm, SIDRA_HANDLE_LIMIT, &sfile->next_vm,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		xa_erase(&sfile->sdev->vms, vm->id);
	return min(ret, 0);
}

int sidra_vm_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_vm_create *args = data;
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_vm *vm, *held __free(sidra_vm) = NULL;
	struct sidra_device *sdev = to_sidra(drm);
	int ret;

	args->vm = 0;
	ret = sidra_check_zero(file, args->flags);
	if (ret)
		return ret;

	CLASS(sidra_call, call)(sdev, NULL);
	if (call.error)
		return call.error;
	vm = sidra_vm_create(sdev);
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	/* Another thread may guess its handle and destroy it */
	held = sidra_vm_get(vm);
	ret = sidra_vm_publish(sfile, vm);
	if (ret) {
		sidra_mmu_fini(vm);
		sidra_vm_put(vm);
		return ret;
	}
	args->vm = vm->handle;
	return 0;
}

int sidra_vm_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_vm *args = data;
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_vm *vm __free(sidra_vm) = NULL;
	int ret = sidra_check_zero(file, args->flags);

	if (ret)
		return ret;
	vm = sidra_vm_find(sfile, args->vm);
	if (!vm)
		return sidra_refuse(file, args->vm, -ENOENT);

	CLASS(sidra_lock, locked)(sdev, &vm->lock);
	if (locked.error)
		return locked.error;
	if (vm->dead)
		return sidra_refuse(file, args->vm, -ENOENT);
	if (!list_empty(&vm->ctxs))
		return -EBUSY;
	sidra_vm_destroy(vm);
	xa_erase(&sfile->vms, args->vm);
	sidra_vm_put(vm);
	return 0;
}
