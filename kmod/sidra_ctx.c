// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>

#include "sidra_call.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_map.h"
#include "sidra_mmu.h"
#include "sidra_queue.h"
#include "sidra_quiesce.h"
#include "sidra_refusal.h"
#include "sidra_table.h"
#include "sidra_trace.h"
#include "sidra_usage.h"
#include "sidra_weights.h"

#define QUEUE_TABLE_SIZE	(SIDRA_QUEUES_PER_CONTEXT_MAX * sizeof(struct sidra_hw_queue))
#define WEIGHTS_TABLE_SIZE	(SIDRA_WEIGHTS_MAX * sizeof(struct sidra_hw_weights))

static void sidra_ctx_install(struct sidra_ctx *ctx)
{
	struct sidra_hw_context entry = {
		.page_table = cpu_to_le64(sidra_ptab_root(&ctx->vm->ptab)),
		.weights_table = cpu_to_le64(ctx->weights_table_bus),
		.queue_table = cpu_to_le64(ctx->queue_table_bus),
		.weights_count = cpu_to_le32(SIDRA_WEIGHTS_MAX),
		.queue_count = cpu_to_le32(SIDRA_QUEUES_PER_CONTEXT_MAX),
		.generation = cpu_to_le32(ctx->generation),
		.flags = cpu_to_le32(SIDRA_HW_CONTEXT_VALID),
	};

	sidra_entry_publish(&ctx->sdev->ctx_table[ctx->slot], &entry, sizeof(entry),
			    offsetof(struct sidra_hw_context, flags));
}

static void sidra_ctx_free_tables(struct sidra_ctx *ctx)
{
	struct device *dev = ctx->sdev->drm.dev;

	if (ctx->queue_table)
		dma_free_coherent(dev, QUEUE_TABLE_SIZE, ctx->queue_table, ctx->queue_table_bus);
	if (ctx->weights_table)
		dma_free_coherent(dev, WEIGHTS_TABLE_SIZE, ctx->weights_table,
				  ctx->weights_table_bus);
}

static int sidra_ctx_alloc_tables(struct sidra_ctx *ctx)
{
	struct device *dev = ctx->sdev->drm.dev;

	ctx->queue_table = dma_alloc_coherent(dev, QUEUE_TABLE_SIZE, &ctx->queue_table_bus,
					      GFP_KERNEL_ACCOUNT);
	ctx->weights_table = dma_alloc_coherent(dev, WEIGHTS_TABLE_SIZE, &ctx->weights_table_bus,
						GFP_KERNEL_ACCOUNT);
	return ctx->queue_table && ctx->weights_table ? 0 : -ENOMEM;
}

static struct sidra_ctx *sidra_ctx_alloc(struct sidra_vm *vm, struct sidra_file *sfile)
{
	struct sidra_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	mutex_init(&ctx->lock);
	ctx->sdev = vm->sdev;
	ctx->vm = sidra_vm_get(vm);
	ctx->account = &sfile->account;
	ctx->user = sfile->user;
	ctx->generation = 1;
	xa_init_flags(&ctx->queues, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->weights, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	return ctx;
}

/* Takes a number on the chip. */
static int sidra_ctx_take_slot(struct sidra_ctx *ctx)
{
	struct sidra_device *sdev = ctx->sdev;

	guard(spinlock)(&sdev->ctxs_lock);
	while (ctx->slot < sdev->chip.info.contexts && sdev->ctxs[ctx->slot])
		ctx->slot++;
	if (ctx->slot == sdev->chip.info.contexts)
		return -EMFILE;
	sdev->ctxs[ctx->slot] = ctx;
	return 0;
}

static void sidra_ctx_leave_slot(struct sidra_ctx *ctx)
{
	guard(spinlock)(&ctx->sdev->ctxs_lock);
	ctx->sdev->ctxs[ctx->slot] = NULL;
}

/* Takes what a context needs. */
static int sidra_ctx_setup(struct sidra_ctx *ctx, struct sidra_file *sfile)
{
	struct sidra_device *sdev = ctx->sdev;
	int ret;

	ret = sidra_ctx_take_slot(ctx);
	if (ret)
		return ret;
	ret = sidra_user_charge(sdev, ctx->user, SIDRA_RESOURCE_CONTEXTS, 1);
	if (ret)
		goto err_slot;
	ret = sidra_ctx_alloc_tables(ctx);
	if (ret)
		goto err_tables;
	/* The handle is only valid once the context is complete. */
	ret = xa_alloc_cyclic(&sfile->ctxs, &ctx->handle, NULL, SIDRA_HANDLE_LIMIT,
			      &sfile->next_ctx, GFP_KERNEL_ACCOUNT);
	if (ret >= 0)
		return 0;

err_tables:
	sidra_ctx_free_tables(ctx);
	sidra_user_uncharge(sdev, ctx->user, SIDRA_RESOURCE_CONTEXTS, 1);
err_slot:
	sidra_ctx_leave_slot(ctx);
	return ret;
}

int sidra_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_context_create *args = data;
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_vm *vm __free(sidra_vm) = NULL;
	struct sidra_ctx *ctx;
	int ret;

	args->context = 0;
	args->doorbell_offset = 0;
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (ret)
		return ret;
	vm = sidra_vm_find(sfile, args->vm);
	if (!vm)
		return sidra_refuse(file, args->vm, -ENOENT);

	CLASS(sidra_call, call)(sdev, &vm->lock);
	if (call.error)
		return call.error;
	if (vm->dead)
		return sidra_refuse(file, args->vm, -ENOENT);
	ctx = sidra_ctx_alloc(vm, sfile);
	if (!ctx)
		return -ENOMEM;
	ret = sidra_ctx_setup(ctx, sfile);
	if (ret) {
		sidra_ctx_put(ctx);
		return ret;
	}
	list_add_tail(&ctx->vm_link, &vm->ctxs);
	sidra_account_contexts(ctx->account, 1);
	sidra_ctx_install(ctx);
	/* Cannot fail: the entry is allocated */
	xa_store(&sfile->ctxs, ctx->handle, ctx, GFP_KERNEL);
	args->context = ctx->handle;
	args->doorbell_offset = sidra_map_offset(SIDRA_MAP_DOORBELL, ctx->handle, 0);
	return 0;
}

void sidra_ctx_revoke(struct sidra_ctx *ctx)
{
	scoped_guard(mutex, &ctx->sdev->map_lock)
		ctx->revoked = true;
	sidra_map_zap_doorbell(ctx);
}

static struct sidra_fault sidra_ctx_latest_fault(struct sidra_ctx *ctx)
{
	struct sidra_fault latest = ctx->fault;
	struct sidra_queue *queue;
	unsigned long number;

	if (ctx->lost)
		return latest;
	xa_for_each(&ctx->queues, number, queue)
		if (sidra_timeline_stopped(&queue->timeline))
			sidra_fault_keep_latest(&latest, &queue->timeline.state->fault);
	return latest;
}

void sidra_ctx_lose(struct sidra_ctx *ctx, enum sidra_fault_cause cause)
{
	struct sidra_queue *queue;
	unsigned long number;

	sidra_ctx_assert_held(ctx);
	ctx->fault = sidra_ctx_latest_fault(ctx);
	scoped_guard(mutex, &ctx->sdev->chip.admin_lock) {
		ctx->failed = false;
		WRITE_ONCE(ctx->lost, true);
	}
	xa_for_each(&ctx->queues, number, queue) {
		struct sidra_fault *fault = &queue->timeline.state->fault;
		bool faulted = fault->cause != cpu_to_le16(SIDRA_FAULT_NONE);

		sidra_entry_revoke(&ctx->queue_table[number].flags);
		sidra_queue_stop(queue, SIDRA_QUEUE_LOST, cause);
		if (!faulted)
			ctx->fault = *fault;
	}
}

/*
 * Makes the context's table entry valid and its doorbell page accessible again: undoes
 * sidra_ctx_revoke().
 */
static void sidra_ctx_reinstate(struct sidra_ctx *ctx)
{
	sidra_ctx_install(ctx);
	scoped_guard(mutex, &ctx->sdev->map_lock)
		ctx->revoked = false;
	sidra_map_zap_doorbell(ctx);	/* the next access maps the real page */
}

bool sidra_ctx_drained(struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long number;

	xa_for_each(&ctx->queues, number, queue)
		if (!sidra_queue_drained(queue))
			return false;
	return true;
}

void sidra_ctx_resume(struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long number;

	sidra_ctx_assert_held(ctx);
	xa_for_each(&ctx->queues, number, queue)
		sidra_queue_resume(ctx, queue);
	sidra_ctx_reinstate(ctx);
	sidra_queue_ring_all(ctx);
}

static void sidra_ctx_drop_all(struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long index;

	xa_for_each(&ctx->queues, index, queue)
		sidra_queue_drop(ctx, queue);
	sidra_weights_drop_all(ctx);
	xa_destroy(&ctx->weights);
	xa_destroy(&ctx->queues);
}

void sidra_ctx_destroy(struct sidra_ctx *ctx)
{
	struct sidra_device *sdev = ctx->sdev;

	sidra_ctx_assert_held(ctx);
	if (ctx->dead)
		return;
	sidra_entry_revoke(&sdev->ctx_table[ctx->slot].flags);
	sidra_ctx_revoke(ctx);
	sidra_quiesce(ctx, SIDRA_ADMIN_RESET_CONTEXT, 0, 0);
	if (!ctx->lost)
		sidra_ctx_lose(ctx, SIDRA_FAULT_RESET);
	sidra_ctx_drop_all(ctx);
	/* Until here the address space stays: its rings were mapped there */
	scoped_guard(mutex, &ctx->vm->lock)
		list_del(&ctx->vm_link);
	sidra_ctx_free_tables(ctx);
	sidra_ctx_leave_slot(ctx);	/* last: no command of this context names it any more */
	sidra_account_contexts(ctx->account, -1);
	sidra_user_uncharge(sdev, ctx->user, SIDRA_RESOURCE_CONTEXTS, 1);
	ctx->dead = true;
}

void sidra_ctx_destroy_all(struct sidra_file *sfile)
{
	struct sidra_device *sdev = sfile->sdev;
	struct sidra_ctx *ctx;
	unsigned long handle;

	xa_for_each(&sfile->ctxs, handle, ctx) {
		guard(rwsem_read)(&sdev->reset_lock);
		scoped_guard(mutex, &ctx->lock)
			sidra_ctx_destroy(ctx);
		xa_erase(&sfile->ctxs, handle);
		sidra_ctx_put(ctx);
	}
}

int sidra_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_context *args = data;
	struct sidra_file *sfile = file->driver_priv;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	int ret = sidra_check_zero(file, args->flags);

	if (ret)
		return ret;
	ctx = sidra_ctx_find(sfile, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_lock, locked)(sdev, &ctx->lock);
	if (locked.error)
		return locked.error;
	if (ctx->dead)
		return sidra_refuse(file, args->context, -ENOENT);
	ret = sidra_vm_await_turn(ctx->vm);
	if (ret)
		return ret;
	sidra_ctx_destroy(ctx);
	xa_erase(&sfile->ctxs, args->context);
	sidra_ctx_put(ctx);
	return 0;
}

int sidra_context_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_context_query *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	int ret;

	args->state = 0;
	args->generation = 0;
	args->vm = 0;
	memset(&args->fault, 0, sizeof(args->fault));
	ret = sidra_check_zero(file, args->flags) ?: sidra_check_zero(file, args->pad);
	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	if (call.error)
		return call.error;
	if (ctx->dead)
		return sidra_refuse(file, args->context, -ENOENT);
	args->state = ctx->lost ? SIDRA_CONTEXT_LOST : SIDRA_CONTEXT_OK;
	args->generation = ctx->generation;
	args->vm = ctx->vm->handle;
	args->fault = sidra_ctx_latest_fault(ctx);
	return 0;
}

int sidra_context_recover_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_context *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	struct sidra_ctx *ctx __free(sidra_ctx) = NULL;
	struct sidra_queue *queue;
	unsigned long number;
	int ret = sidra_check_zero(file, args->flags);

	if (ret)
		return ret;
	ctx = sidra_ctx_find(file->driver_priv, args->context);
	if (!ctx)
		return sidra_refuse(file, args->context, -ENOENT);

	CLASS(sidra_call, call)(sdev, &ctx->lock);
	if (call.error)
		return call.error;
	if (ctx->dead)
		return sidra_refuse(file, args->context, -ENOENT);
	if (!ctx->lost)
		return 0;
	ret = sidra_vm_await_turn(ctx->vm);
	if (ret)
		return ret;
	ctx->fault = sidra_ctx_latest_fault(ctx);
	xa_for_each(&ctx->queues, number, queue)
		sidra_queue_drop(ctx, queue);
	ctx->generation++;
	WRITE_ONCE(ctx->lost, false);
	sidra_ctx_reinstate(ctx);
	return 0;
}
