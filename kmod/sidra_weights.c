// SPDX-License-Identifier: GPL-2.0-only
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uuid.h>

#include "sidra_admin.h"
#include "sidra_args.h"
#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_ioctl.h"
#include "sidra_quiesce.h"
#include "sidra_refusal.h"
#include "sidra_report.h"
#include "sidra_store.h"
#include "sidra_table.h"
#include "sidra_weights.h"

/**
 * struct sidra_weights_handle - a context's handle; index 0 stays unused, so that a packet field
 * that was left zero faults
 * @object: the object, with one of its handle references
 * @rights: SIDRA_WEIGHTS_*
 */
struct sidra_weights_handle {
	struct sidra_object *object;
	u32 rights;
};

#define INDEX_LIMIT		XA_LIMIT(1, SIDRA_WEIGHTS_MAX - 1)
#define ENTRY_FIRST_SIZE	168u	/* of struct sidra_weights_entry in version 2.0 */

static struct sidra_nvm_user sidra_weights_caller(void)
{
	return (struct sidra_nvm_user){ .uid = sidra_limits_caller(),
					.admin = capable(CAP_SYS_ADMIN) };
}

/*
 * The owner that a call names, in the initial user namespace; -EINVAL if the caller's user
 * namespace has no such user.
 */
static int sidra_weights_read_owner(struct drm_file *file, u32 owner, u32 *uid)
{
	kuid_t kuid;

	if (owner == SIDRA_OWNER_CALLER) {
		*uid = sidra_limits_caller();
		return 0;
	}
	kuid = make_kuid(current_user_ns(), owner);
	if (!uid_valid(kuid))
		return sidra_refusal_note(file, "owner", owner, -EINVAL);
	*uid = from_kuid(&init_user_ns, kuid);
	return 0;
}

static bool sidra_weights_valid_rights(u32 rights)
{
	return rights && !(rights & ~SIDRA_WEIGHTS_RIGHTS);
}

static u32 sidra_weights_hardware_rights(u32 rights)
{
	return (rights & SIDRA_WEIGHTS_COMPUTE ? SIDRA_HW_WEIGHTS_COMPUTE : 0) |
	       (rights & SIDRA_WEIGHTS_PROGRAM ? SIDRA_HW_WEIGHTS_PROGRAM : 0) |
	       (rights & SIDRA_WEIGHTS_READBACK ? SIDRA_HW_WEIGHTS_READBACK : 0);
}

/* ---- Handles; the caller holds sidra_ctx.lock ---- */

/*
 * Creates a handle in the context. Takes over the caller's reference to the object, also on
 * failure.
 */
static int sidra_weights_install(struct sidra_ctx *ctx, struct sidra_object *object, u32 rights,
				 u32 *index)
{
	struct sidra_hw_weights entry = {
		.uid = cpu_to_le64(object->uid),
		.tiles = cpu_to_le64(object->tiles_bus),
		.rows = cpu_to_le32(object->rows),
		.cols = cpu_to_le32(object->cols),
		.tile_count = cpu_to_le32(object->tile_count),
		.flags = cpu_to_le32(SIDRA_HW_WEIGHTS_VALID |
				     sidra_weights_hardware_rights(rights)),
		.encoding = cpu_to_le32(object->encoding),
	};
	struct sidra_weights_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	int ret = handle ? 0 : -ENOMEM;

	if (!ret) {
		handle->object = object;
		handle->rights = rights;
		ret = xa_alloc_cyclic(&ctx->weights, index, handle, INDEX_LIMIT, &ctx->next_weights,
				      GFP_KERNEL_ACCOUNT);
		ret = min(ret, 0);	/* 1 means that the index has wrapped */
	}
	if (ret) {
		kfree(handle);
		sidra_store_put_handle(ctx->sdev, object);
		return ret == -EBUSY ? -EMFILE : ret;
	}
	sidra_entry_publish(&ctx->weights_table[*index], &entry, sizeof(entry),
			    offsetof(struct sidra_hw_weights, flags));
	return 0;
}

static void sidra_weights_drop(struct sidra_ctx *ctx, u32 index,
			       struct sidra_weights_handle *handle)
{
	sidra_entry_revoke(&ctx->weights_table[index].flags);
	sidra_quiesce(ctx, SIDRA_ADMIN_QUIESCE_WEIGHTS, index, 0);
	xa_erase(&ctx->weights, index);
	sidra_store_put_handle(ctx->sdev, handle->object);
	kfree(handle);
}

void sidra_weights_drop_all(struct sidra_ctx *ctx)
{
	struct sidra_weights_handle *handle;
	unsigned long index;

	sidra_ctx_assert_held(ctx);
	xa_for_each(&ctx->weights, index, handle)
		sidra_weights_drop(ctx, index, handle);
}

/* ---- Arguments and results ---- */

static int sidra_weights_read_name(struct drm_file *file, u64 address,
				   char name[SIDRA_WEIGHTS_NAME_MAX + 1])
{
	long length = strncpy_from_user(name, u64_to_user_ptr(address), SIDRA_WEIGHTS_NAME_MAX + 1);

	if (length < 0)
		return sidra_refusal_note(file, "name", address, length);
	return sidra_refusal_unless(file, "name", address,
				    length && length <= SIDRA_WEIGHTS_NAME_MAX);
}

/*
 * Returns NULL if @size is 0. Unlike vmemdup_user(), charges the memory to the caller, because a
 * descriptor may keep it.
 */
static void *sidra_weights_read_data(struct drm_file *file, u64 address, u64 size)
{
	void *data;

	if (size > SIDRA_WEIGHTS_DATA_MAX)
		return ERR_PTR(sidra_refusal_note(file, "data_size", size, -EINVAL));
	if (!size)
		return NULL;
	data = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!data)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(data, u64_to_user_ptr(address), size))
		return data;
	kvfree(data);
	return ERR_PTR(sidra_refusal_note(file, "data", address, -EFAULT));
}

/* Copies the data kept with the object to the caller of OPEN or IMPORT. */
static int sidra_weights_return_data(struct drm_file *file, u64 to, u64 room, const void *data,
				     u64 size, u64 *data_size)
{
	if (size > room) {
		*data_size = size;
		return -ENOSPC;
	}
	if (size && copy_to_user(u64_to_user_ptr(to), data, size))
		return sidra_refusal_note(file, "data", to, -EFAULT);
	return 0;
}

/*
 * Creates a handle for a reference that was taken earlier, or drops the reference if @ret is an
 * error.
 */
static int sidra_weights_install_taken(struct sidra_ctx *ctx, struct sidra_object *object,
				       u32 rights, u32 *index, int ret)
{
	guard(rwsem_read)(&ctx->sdev->reset_lock);
	guard(mutex)(&ctx->lock);
	if (!ret)
		ret = sidra_ctx_usable(ctx);
	if (!ret && object->gone)
		ret = -ENODEV;
	if (!ret)
		return sidra_weights_install(ctx, object, rights, index);
	sidra_store_put_handle(ctx->sdev, object);
	return ret;
}

/*
 * Reads the crossbars that the caller of CREATE wants. Returns NULL if it leaves the choice to the
 * driver.
 */
static u32 *sidra_weights_read_wanted(const struct sidra_device *sdev, struct drm_file *file,
				      const struct sidra_ioctl_weights_create *args, u32 given)
{
	u64 tiles = sidra_tile_count(args->rows, args->cols, args->encoding);
	u32 *wanted;
	int ret;

	if (!args->xbar_ids)
		return ERR_PTR(sidra_check_zero(file, args->xbar_stride));
	ret = sidra_refusal_unless(file, "xbars", given, given == tiles) ?:
		sidra_check_stride(file, args->xbar_stride, sizeof(*wanted));
	if (ret)
		return ERR_PTR(ret);
	if (tiles > sidra_xbars_of(&sdev->chip.info))
		return ERR_PTR(-ENOSPC);
	wanted = kvmalloc_array(tiles, sizeof(*wanted), GFP_KERNEL_ACCOUNT);
	if (!wanted)
		return ERR_PTR(-ENOMEM);
	ret = sidra_args_read_array(wanted, sizeof(*wanted), args->xbar_ids, tiles,
				    args->xbar_stride);
	if (!ret)
		return wanted;
	kvfree(wanted);
	return ERR_PTR(ret == -EFAULT ? sidra_refuse(file, args->xbar_ids, ret) :
					sidra_refuse(file, args->xbar_stride, ret));
}

/* ---- Calls ---- */

/* Looks a handle up in a usable context; valid while sidra_ctx.lock is held. */
static struct sidra_weights_handle *sidra_weights_find_handle(struct sidra_ctx *ctx,
							      struct drm_file *file, u32 index)
{
	struct sidra_weights_handle *handle;
	int ret = sidra_ctx_usable(ctx);

	if (ret)
		return ERR_PTR(ret);
	handle = xa_load(&ctx->weights, index);
	return handle ?: ERR_PTR(sidra_refusal_note(file, "index", index, -ENOENT));
}

int sidra_weights_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	u32 *wanted __free(kvfree) = NULL;
	struct sidra_ioctl_weights_create *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_object *object;
	u32 given = args->xbars;
	int ret;

	args->index = 0;
	args->xbars = 0;
	args->uid = 0;
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad) ?:
		sidra_check_arg(file, args->rights, sidra_weights_valid_rights(args->rights)) ?:
		sidra_check_arg(file, args->encoding, args->encoding <= SIDRA_ENCODING_OFFSET) ?:
		sidra_check_arg(file, args->rows, args->rows) ?:
		sidra_check_arg(file, args->cols, args->cols);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	wanted = sidra_weights_read_wanted(sdev, file, args, given);
	if (IS_ERR(wanted))
		return PTR_ERR(wanted);

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	ret = call.error ?: sidra_ctx_usable(ctx);
	if (ret)
		return ret;
	object = sidra_store_create(sdev, ctx->user, args->rows, args->cols, args->encoding,
				    wanted);
	if (IS_ERR(object))
		return PTR_ERR(object);
	ret = sidra_weights_install(ctx, object, args->rights, &args->index);
	if (ret)
		return ret;
	args->xbars = object->tile_count;
	args->uid = object->uid;
	return 0;
}

int sidra_weights_publish_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	void *kept __free(kvfree) = NULL;
	struct sidra_ioctl_weights_publish *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_nvm_entry entry = {};
	struct sidra_weights_handle *handle;
	struct sidra_user *user;
	uuid_t uuid;
	int ret;

	memset(args->uuid, 0, sizeof(args->uuid));
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_bits(file, args->mode, 0777) ?:
		sidra_weights_read_name(file, args->name, entry.name);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	kept = sidra_weights_read_data(file, args->data, args->data_size);
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	uuid_gen(&uuid);
	export_uuid(entry.uuid, &uuid);
	memcpy(entry.hash, args->hash, sizeof(entry.hash));
	entry.mode = cpu_to_le32(args->mode);
	entry.created_s = cpu_to_le64(ktime_get_real_seconds());

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	if (call.error)
		return call.error;
	handle = sidra_weights_find_handle(ctx, file, args->index);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	if (!(handle->rights & SIDRA_WEIGHTS_PROGRAM))
		return -EACCES;
	/* Not that of the file: who has changed its user since has the names of the new one. */
	user = sidra_user_get(sdev, sidra_limits_caller());
	if (!user)
		return -ENOMEM;
	ret = sidra_store_publish(sdev, user, handle->object, &entry, kept, args->data_size);
	sidra_user_put(sdev, user);
	if (!ret)
		memcpy(args->uuid, entry.uuid, sizeof(args->uuid));
	return ret;
}

static int sidra_weights_take_named(struct sidra_ctx *ctx, struct drm_file *file, u32 owner,
				    const char *name, const struct sidra_ioctl_weights_open *args,
				    struct sidra_object **object, void **kept, u64 *size)
{
	const struct sidra_nvm_user user = sidra_weights_caller();
	int ret;

	CLASS(sidra_call, call)(ctx->sdev, &ctx->lock);
	ret = call.error ?: sidra_ctx_usable(ctx);
	if (ret)
		return ret;
	ret = sidra_store_open(ctx->sdev, owner, name, args->rights, &user, object, kept, size);
	if (ret == -ENOENT)
		return sidra_refuse(file, args->name, ret);
	return ret == -EACCES ? sidra_refuse(file, args->rights, ret) : ret;
}

int sidra_weights_open_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	void *kept __free(kvfree) = NULL;
	struct sidra_ioctl_weights_open *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	char name[SIDRA_WEIGHTS_NAME_MAX + 1];
	/* A copy, because another thread may destroy the handle meanwhile */
	struct sidra_object *object, shape;
	u64 room = args->data_size, size;
	u32 index, owner;
	int ret;

	args->rows = 0;
	args->cols = 0;
	args->encoding = 0;
	args->xbars = 0;
	args->index = 0;
	args->uid = 0;
	args->data_size = 0;
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad) ?:
		sidra_check_arg(file, args->rights, sidra_weights_valid_rights(args->rights)) ?:
		sidra_weights_read_owner(file, args->owner, &owner) ?:
		sidra_weights_read_name(file, args->name, name);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	ret = sidra_weights_take_named(ctx, file, owner, name, args, &object, &kept, &size);
	if (ret)
		return ret;
	shape = *object;
	ret = sidra_weights_return_data(file, args->data, room, kept, size, &args->data_size);
	ret = sidra_weights_install_taken(ctx, object, args->rights, &index, ret);
	if (ret)
		return ret;
	args->data_size = size;
	args->rows = shape.rows;
	args->cols = shape.cols;
	args->encoding = shape.encoding;
	args->xbars = shape.tile_count;
	args->uid = shape.uid;
	args->index = index;
	return 0;
}

int sidra_weights_unlink_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_weights_unlink *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	const struct sidra_nvm_user user = sidra_weights_caller();
	char name[SIDRA_WEIGHTS_NAME_MAX + 1];
	u32 owner;
	int ret;

	ret = sidra_check_bits(file, args->flags, SIDRA_UNLINK_EVICT) ?:
		sidra_weights_read_owner(file, args->owner, &owner) ?:
		sidra_weights_read_name(file, args->name, name);
	if (ret)
		return ret;

	CLASS(sidra_call, call)(sdev, NULL);
	if (call.error)
		return call.error;
	ret = sidra_store_unlink(sdev, owner, name, args->flags & SIDRA_UNLINK_EVICT, &user);
	if (ret == -ENOENT)
		return sidra_refuse(file, args->name, ret);
	return ret == -EACCES ? sidra_refuse(file, args->owner, ret) : ret;
}

int sidra_weights_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_weights *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_weights_handle *handle;
	int ret;

	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_lock, locked)(sdev, &ctx->lock);
	if (locked.error)
		return locked.error;
	handle = ctx->dead ? NULL : xa_load(&ctx->weights, args->index);
	if (!handle)
		return sidra_refuse(file, args->index, -ENOENT);
	ret = sidra_admin_await_turn(sdev);
	if (!ret)
		sidra_weights_drop(ctx, args->index, handle);
	return ret;
}

/* ---- File descriptors for objects ---- */

struct sidra_share {
	struct sidra_device *sdev;	/* with a reference to its drm device */
	struct sidra_object *object;
	u32 rights;
	void *data;
	u64 size;
};

static int sidra_weights_share_release(struct inode *inode, struct file *filp)
{
	struct sidra_share *share = filp->private_data;
	struct sidra_device *sdev = share->sdev;

	scoped_guard(rwsem_read, &sdev->reset_lock)
		sidra_store_put_descriptor(sdev, share->object);
	kvfree(share->data);
	kfree(share);
	drm_dev_put(&sdev->drm);
	return 0;
}

static const struct file_operations share_fops = {
	.owner = THIS_MODULE,
	.release = sidra_weights_share_release,
};

/* Takes a descriptor reference to the object for @share. */
static int sidra_weights_take_shared(struct sidra_ctx *ctx, struct drm_file *file, u32 index,
				     struct sidra_share *share)
{
	struct sidra_weights_handle *handle;

	CLASS(sidra_call, call)(ctx->sdev, &ctx->lock);
	if (call.error)
		return call.error;
	handle = sidra_weights_find_handle(ctx, file, index);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	if (share->rights & ~handle->rights)
		return -EACCES;
	share->object = handle->object;
	sidra_store_get_descriptor(ctx->sdev, handle->object);
	return 0;
}

static int sidra_weights_share_file(struct sidra_ctx *ctx, struct drm_file *file, u32 index,
				    struct sidra_share *share)
{
	struct sidra_device *sdev = ctx->sdev;
	int fd, ret;

	ret = sidra_weights_take_shared(ctx, file, index, share);
	if (ret)
		return ret;
	drm_dev_get(&sdev->drm);
	fd = anon_inode_getfd("[sidra-weights]", &share_fops, share, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	scoped_guard(rwsem_read, &sdev->reset_lock)
		sidra_store_put_descriptor(sdev, share->object);
	drm_dev_put(&sdev->drm);
	return fd;
}

int sidra_weights_share_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_weights_share *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_share *share;
	int ret;

	args->fd = -1;
	ret = sidra_check_zero(file, args->flags) ?:
		sidra_check_arg(file, args->rights, sidra_weights_valid_rights(args->rights));
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		return -ENOMEM;
	share->sdev = ctx->sdev;
	share->rights = args->rights;
	share->size = args->data_size;
	share->data = sidra_weights_read_data(file, args->data, args->data_size);
	ret = IS_ERR(share->data) ? PTR_ERR(share->data) :
				    sidra_weights_share_file(ctx, file, args->index, share);
	if (ret >= 0) {
		args->fd = ret;
		return 0;
	}
	if (!IS_ERR(share->data))
		kvfree(share->data);
	kfree(share);
	return ret;
}

static int sidra_weights_take_handle(struct sidra_ctx *ctx, struct sidra_object *object)
{
	int ret;

	CLASS(sidra_call, call)(ctx->sdev, &ctx->lock);
	ret = call.error ?: sidra_ctx_usable(ctx);
	if (!ret)
		sidra_store_get_handle(ctx->sdev, object);
	return ret;
}

static int sidra_weights_import(struct sidra_ctx *ctx, struct sidra_share *share,
				struct drm_file *file, struct sidra_ioctl_weights_import *args,
				u64 room)
{
	struct sidra_object *object = share->object, shape;
	u32 index;
	int ret;

	ret = sidra_weights_take_handle(ctx, object);
	if (ret)
		return ret;
	shape = *object;
	ret = sidra_weights_return_data(file, args->data, room, share->data, share->size,
					&args->data_size);
	ret = sidra_weights_install_taken(ctx, object, share->rights, &index, ret);
	if (ret)
		return ret;
	args->data_size = share->size;
	args->rights = share->rights;
	args->rows = shape.rows;
	args->cols = shape.cols;
	args->encoding = shape.encoding;
	args->xbars = shape.tile_count;
	args->uid = shape.uid;
	args->index = index;
	return 0;
}

int sidra_weights_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_weights_import *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	u64 room = args->data_size;
	struct sidra_share *share;
	struct file *filp;
	int ret;

	args->rights = 0;
	args->rows = 0;
	args->cols = 0;
	args->encoding = 0;
	args->xbars = 0;
	args->index = 0;
	args->uid = 0;
	args->data_size = 0;
	ret = sidra_check_zero(file, args->flags);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	filp = fget(args->fd);
	if (!filp)
		return sidra_refuse(file, args->fd, -EBADF);
	share = filp->private_data;
	if (filp->f_op == &share_fops && share->sdev == ctx->sdev)
		ret = sidra_weights_import(ctx, share, file, args, room);
	else
		ret = sidra_refuse(file, args->fd, -ENOENT);
	fput(filp);
	return ret;
}

/*
 * Returns programming progress and the number of crossbars, and a copy of their list if it was
 * asked for and has @room.
 */
static int sidra_weights_query_object(struct sidra_ctx *ctx, struct drm_file *file,
				      struct sidra_ioctl_weights_query *args, u32 room, u32 **ids)
{
	struct sidra_weights_handle *handle;
	u32 count;
	int ret;

	CLASS(sidra_call, call)(ctx->sdev, &ctx->lock);
	if (call.error)
		return call.error;
	handle = sidra_weights_find_handle(ctx, file, args->index);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	count = handle->object->tile_count;
	args->xbars = count;
	if (args->xbar_ids && room < count)
		return -ENOSPC;
	ret = sidra_store_progress(ctx->sdev, handle->object, &args->programmed_rows,
				   &args->total_rows);
	if (ret || !args->xbar_ids)
		return ret;
	*ids = kvmemdup(handle->object->xbars, (size_t)count * sizeof(**ids), GFP_KERNEL_ACCOUNT);
	return *ids ? 0 : -ENOMEM;
}

int sidra_weights_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	u32 *ids __free(kvfree) = NULL;
	struct sidra_ioctl_weights_query *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	u32 room = args->xbars;
	int ret;

	args->xbars = 0;
	args->programmed_rows = 0;
	args->total_rows = 0;
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (!ret)
		ret = args->xbar_ids ? sidra_check_stride(file, args->xbar_stride, sizeof(*ids)) :
				       sidra_check_zero(file, args->xbar_stride);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	ret = sidra_weights_query_object(ctx, file, args, room, &ids);
	if (!ret && ids)
		ret = sidra_args_write_array(args->xbar_ids, args->xbars, args->xbar_stride, ids,
					     sizeof(*ids));
	if (ret == -EFAULT)
		sidra_refuse(file, args->xbar_ids, ret);
	if (!ret)
		return 0;
	args->programmed_rows = 0;
	args->total_rows = 0;
	if (ret != -ENOSPC)	/* -ENOSPC returns the number needed */
		args->xbars = 0;
	return ret;
}

static void sidra_weights_fill_entry(const struct sidra_nvm_entry *from,
				     const struct sidra_nvm_user *user,
				     struct sidra_weights_entry *to)
{
	kuid_t owner = make_kuid(&init_user_ns, le32_to_cpu(from->owner));

	*to = (struct sidra_weights_entry){
		.uid = le64_to_cpu(from->uid),
		.owner = from_kuid_munged(current_user_ns(), owner),
		.mode = le32_to_cpu(from->mode),
		.rights = sidra_nvm_rights(from, user),
		.rows = le32_to_cpu(from->rows),
		.cols = le32_to_cpu(from->cols),
		.encoding = le32_to_cpu(from->encoding),
		.xbars = le32_to_cpu(from->tile_count),
		.data_size = le64_to_cpu(from->data_size),
		.created_s = le64_to_cpu(from->created_s),
	};
	memcpy(to->uuid, from->uuid, sizeof(to->uuid));
	memcpy(to->hash, from->hash, sizeof(to->hash));
	memcpy(to->name, from->name, sizeof(to->name));
}

/* Lists objects at or after @cursor, and updates it. Returns how many. */
static int sidra_weights_list_named(struct sidra_device *sdev, u32 *cursor, u32 count,
				    struct sidra_weights_entry *entries)
{
	const struct sidra_nvm_user user = sidra_weights_caller();
	u32 found = 0;

	CLASS(sidra_call, call)(sdev, &sdev->store.lock);
	if (call.error)
		return call.error;
	for (; *cursor < SIDRA_NVM_ENTRIES && found < count; (*cursor)++) {
		const struct sidra_nvm_entry *entry =
			&sdev->store.nvm.entries[array_index_nospec(*cursor, SIDRA_NVM_ENTRIES)];

		if (entry->uid && sidra_nvm_visible(entry, &user))
			sidra_weights_fill_entry(entry, &user, &entries[found++]);
	}
	return found;
}

int sidra_weights_list_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_weights_entry *entries __free(kvfree) = NULL;
	struct sidra_ioctl_weights_list *args = data;
	u32 count = args->count, cursor = args->cursor;
	int ret;

	args->count = 0;
	ret = sidra_check_zero(file, args->flags) ?:
		sidra_refusal_unless(file, "count", count, count) ?:
		sidra_check_stride(file, args->stride, ENTRY_FIRST_SIZE);
	if (ret)
		return ret;
	count = min(count, SIDRA_NVM_ENTRIES);
	entries = kvmalloc_array(count, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return -ENOMEM;
	ret = sidra_weights_list_named(to_sidra(drm), &cursor, count, entries);
	if (ret < 0)
		return ret;
	count = ret;
	ret = sidra_args_write_array(args->entries, count, args->stride, entries, sizeof(*entries));
	if (ret)
		return sidra_refuse(file, args->entries, ret);
	args->count = count;
	args->cursor = cursor;
	return 0;
}

static int sidra_weights_report_tile(struct sidra_ctx *ctx, struct drm_file *file,
				     const struct sidra_ioctl_weights_report *args,
				     struct sidra_weights_tile *to)
{
	struct sidra_hw_xbar_report report;
	struct sidra_weights_handle *handle;
	int ret;

	CLASS(sidra_call, call)(ctx->sdev, &ctx->lock);
	if (call.error)
		return call.error;
	handle = sidra_weights_find_handle(ctx, file, args->index);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	if (args->tile >= handle->object->tile_count)
		return sidra_refuse(file, args->tile, -EINVAL);
	ret = sidra_store_report(ctx->sdev, handle->object, args->tile, &report);
	if (!ret)
		sidra_report_translate(&report, to);
	return ret;
}

int sidra_weights_report_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_weights_report *args = data;
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_weights_tile report;
	u32 room = args->size;
	int ret;

	ret = sidra_check_zero(file, args->flags) ?:
		sidra_check_zero(file, args->pad) ?:
		sidra_check_arg(file, args->size, args->size <= SIDRA_STRIDE_MAX);
	args->size = 0;
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);
	ret = sidra_weights_report_tile(ctx, file, args, &report);
	if (ret)
		return ret;
	args->size = room;
	if (sidra_args_return(args->report, &args->size, &report, sizeof(report)))
		return sidra_refuse(file, args->report, -EFAULT);
	return 0;
}
