// SPDX-License-Identifier: GPL-2.0-only
/* Open files, and the dispatch of their calls. */
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/nospec.h>

#include <drm/drm_accel.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "sidra_args.h"
#include "sidra_bo.h"
#include "sidra_call.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_map.h"
#include "sidra_queue.h"
#include "sidra_refusal.h"
#include "sidra_uring.h"
#include "sidra_vm.h"

/* ---- fdinfo ---- */

static void sidra_file_show_memory(struct drm_printer *p, struct drm_file *file)
{
	struct drm_memory_stats host = {}, local = {};
	struct drm_gem_object *obj;
	int handle;

	scoped_guard(spinlock, &file->table_lock)
		idr_for_each_entry(&file->object_idr, obj, handle) {
			struct sidra_bo *bo = to_sidra_bo(obj);
			struct drm_memory_stats *stats = bo->kind == SIDRA_BO_LOCAL ? &local :
										      &host;

			if (drm_gem_object_is_shared_for_memory_stats(obj))
				stats->shared += obj->size;
			else
				stats->private += obj->size;
			if (bo->kind != SIDRA_BO_HOST || READ_ONCE(bo->sgt))
				stats->resident += obj->size;
		}
	drm_print_memory_stats(p, &host, DRM_GEM_OBJECT_RESIDENT, "memory");
	drm_print_memory_stats(p, &local, DRM_GEM_OBJECT_RESIDENT, "l3");
}

void sidra_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct sidra_file *sfile = file->driver_priv;

	sidra_account_show(&sfile->account, p);
	sidra_file_show_memory(p, file);
}

/* ---- Open and close ---- */

int sidra_open(struct drm_device *drm, struct drm_file *file)
{
	struct sidra_file *sfile = kzalloc(sizeof(*sfile), GFP_KERNEL_ACCOUNT);

	if (!sfile)
		return -ENOMEM;
	sfile->dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!sfile->dummy) {
		kfree(sfile);
		return -ENOMEM;
	}
	sfile->sdev = to_sidra(drm);
	sfile->user = sidra_user_get(sfile->sdev, sidra_limits_caller());
	if (!sfile->user) {
		__free_page(sfile->dummy);
		kfree(sfile);
		return -ENOMEM;
	}
	xa_init_flags(&sfile->ctxs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&sfile->vms, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	sidra_account_init(&sfile->account);
	spin_lock_init(&sfile->refusal.lock);
	file->driver_priv = sfile;
	return 0;
}

void sidra_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct sidra_file *sfile = file->driver_priv;

	xa_destroy(&sfile->vms);
	xa_destroy(&sfile->ctxs);
	sidra_user_put(sfile->sdev, sfile->user);
	/* No mapping shows it, because a mapping keeps the file open */
	__free_page(sfile->dummy);
	kfree(sfile);
}

static int sidra_file_release(struct inode *inode, struct file *filp)
{
	struct drm_file *file = filp->private_data;

	/*
	 * Before DRM closes the handles: that would unbind and quiesce every buffer individually.
	 */
	sidra_ctx_destroy_all(file->driver_priv);
	sidra_vm_destroy_file(file->driver_priv);
	return drm_release(inode, filp);
}

/* ---- ioctl ---- */

#define ARGS_MAX	128	/* bytes of the largest struct of a call */

/**
 * struct sidra_ioctl_desc - a call
 * @call: executes it; also gets what the caller's struct lacks, as zeros
 * @size: bytes of its struct
 * @first_size: bytes of the struct in version 2.0, or whichever version has the call first; never
 *              changes
 */
struct sidra_ioctl_desc {
	int (*call)(struct drm_device *drm, void *data, struct drm_file *file);
	size_t size, first_size;
};

#define SIDRA_DEF(number, name, first) \
	[_IOC_NR(SIDRA_IOCTL_##number) - DRM_COMMAND_BASE] = { \
		.call = sidra_##name##_ioctl, \
		.size = _IOC_SIZE(SIDRA_IOCTL_##number) + \
			BUILD_BUG_ON_ZERO(_IOC_SIZE(SIDRA_IOCTL_##number) > ARGS_MAX), \
		.first_size = first \
	}

static const struct sidra_ioctl_desc sidra_ioctls[] = {
	SIDRA_DEF(DEVICE_QUERY, device_query, 24),
	SIDRA_DEF(DEVICE_RESET, device_reset, 8),
	SIDRA_DEF(VM_CREATE, vm_create, 8),
	SIDRA_DEF(VM_DESTROY, vm_destroy, 8),
	SIDRA_DEF(CONTEXT_CREATE, context_create, 24),
	SIDRA_DEF(CONTEXT_DESTROY, context_destroy, 8),
	SIDRA_DEF(CONTEXT_QUERY, context_query, 88),
	SIDRA_DEF(CONTEXT_RECOVER, context_recover, 8),
	SIDRA_DEF(BUFFER_CREATE, buffer_create, 24),
	SIDRA_DEF(BUFFER_REGISTER, buffer_register, 24),
	SIDRA_DEF(BUFFER_CLOSE, buffer_close, 8),
	SIDRA_DEF(BUFFER_BIND, buffer_bind, 40),
	SIDRA_DEF(BUFFER_UNBIND, buffer_unbind, 16),
	SIDRA_DEF(QUEUE_CREATE, queue_create, 80),
	SIDRA_DEF(QUEUE_DESTROY, queue_destroy, 16),
	SIDRA_DEF(QUEUE_RESET, queue_reset, 24),
	SIDRA_DEF(QUEUE_QUERY, queue_query, 128),
	SIDRA_DEF(WAIT, wait, 32),
	SIDRA_DEF(ARM, arm, 32),
	SIDRA_DEF(SUBMIT, submit, 104),
	SIDRA_DEF(WEIGHTS_CREATE, weights_create, 56),
	SIDRA_DEF(WEIGHTS_PUBLISH, weights_publish, 88),
	SIDRA_DEF(WEIGHTS_OPEN, weights_open, 72),
	SIDRA_DEF(WEIGHTS_UNLINK, weights_unlink, 16),
	SIDRA_DEF(WEIGHTS_DESTROY, weights_destroy, 16),
	SIDRA_DEF(WEIGHTS_SHARE, weights_share, 40),
	SIDRA_DEF(WEIGHTS_IMPORT, weights_import, 64),
	SIDRA_DEF(WEIGHTS_QUERY, weights_query, 40),
	SIDRA_DEF(WEIGHTS_LIST, weights_list, 24),
	SIDRA_DEF(WEIGHTS_REPORT, weights_report, 32),
};

static bool sidra_file_is_driver_call(unsigned int cmd)
{
	return _IOC_TYPE(cmd) == DRM_IOCTL_BASE && _IOC_NR(cmd) >= DRM_COMMAND_BASE &&
		_IOC_NR(cmd) < DRM_COMMAND_END;
}

/* Not drm_ioctl(), which ignores what it does not know of a larger struct. */
static long sidra_file_driver_call(struct file *filp, unsigned int cmd, u64 arg)
{
	unsigned int number = _IOC_NR(cmd) - DRM_COMMAND_BASE;
	const struct sidra_ioctl_desc *ioctl =
		&sidra_ioctls[array_index_nospec(number, ARRAY_SIZE(sidra_ioctls))];
	u64 args[ARGS_MAX / sizeof(u64)];
	long ret;

	if (number >= ARRAY_SIZE(sidra_ioctls) || !ioctl->call ||
	    _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE))
		return -ENOTTY;
	if (_IOC_SIZE(cmd) < ioctl->first_size)
		return -EINVAL;
	ret = sidra_args_read(args, ioctl->size, arg, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	ret = drm_ioctl_kernel(filp, ioctl->call, args, 0);
	if (sidra_args_write(arg, _IOC_SIZE(cmd), args, ioctl->size))
		return -EFAULT;
	return ret;
}

static long sidra_file_answer(struct drm_file *file, unsigned int cmd, long ret)
{
	struct sidra_file *sfile = file->driver_priv;

	sidra_count(sfile->sdev, ioctls);
	ret = sidra_answer(sfile->sdev, ret);
	if (ret < 0)
		sidra_refusal_settle(file, _IOC_NR(cmd), ret);
	return ret;
}

/*
 * Not inside drm_dev_enter(): user space can make a call wait without limit, for a fence or a page.
 */
static long sidra_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return sidra_file_answer(filp->private_data, cmd,
				 sidra_file_is_driver_call(cmd) ?
					 sidra_file_driver_call(filp, cmd, arg) :
					 drm_ioctl(filp, cmd, arg));
}

#ifdef CONFIG_COMPAT
/* Structs of the driver's calls are the same in 32 bits, those of DRM's are not. */
static long sidra_file_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (sidra_file_is_driver_call(cmd))
		return sidra_file_ioctl(filp, cmd, (unsigned long)compat_ptr(arg));
	return sidra_file_answer(filp->private_data, cmd, drm_compat_ioctl(filp, cmd, arg));
}
#else
#define sidra_file_compat_ioctl	NULL
#endif

const struct file_operations sidra_fops = {
	.owner = THIS_MODULE,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.open = accel_open,
	.release = sidra_file_release,
	.unlocked_ioctl = sidra_file_ioctl,
	.compat_ioctl = sidra_file_compat_ioctl,
	.mmap = sidra_mmap,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.uring_cmd = sidra_uring_cmd,
	.show_fdinfo = drm_show_fdinfo,
};
