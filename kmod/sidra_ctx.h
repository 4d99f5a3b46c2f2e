/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context has a queue table, a weights table, the objects that these refer to, and an address
 * space that others may share.
 */
#ifndef __SIDRA_CTX_H__
#define __SIDRA_CTX_H__

#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_vm.h"

struct sidra_queue;
struct sidra_account;
struct sidra_user;

/**
 * struct sidra_ctx - a context; protected by @lock, or sidra_device.reset_lock held exclusively,
 * where nothing else is said
 * @lock: of the context and what it owns
 * @ref: held by the file's table, by mappings of the doorbell page, and by calls in progress
 * @sdev: its device; constant
 * @handle: its handle in the file; constant
 * @slot: its number on the chip; constant
 * @account: accounting of its file; valid while it is not @dead; constant, like @user
 * @user: the user of its file
 * @generation: copied to the state pages
 * @last_epoch: the epoch that was assigned to a queue last
 * @lost: the chip has lost it in a reset; set under sidra_chip.admin_lock, too; also read without a
 *        lock
 * @failed: the chip did not do what it was told, and was made to reset the context: a recovery was
 *          requested, which makes it @lost; protected by sidra_chip.admin_lock
 * @dead: it was destroyed; only its memory is left
 * @revoked: its doorbell must not be rung; protected by sidra_device.map_lock
 * @fault: the latest fault of queues that were destroyed or reset; while @lost, of all queues,
 *         including the loss itself
 * @vm: its address space, with a reference; constant
 * @vm_link: in sidra_vm.ctxs while the chip may use @vm for it; protected by sidra_vm.lock
 * @next_weights: where the next allocation of an index begins, as for sidra_vm.next_address
 * @queue_table: table of its queues, read by the chip
 * @queue_table_bus: its bus address
 * @weights_table: table of its weights, read by the chip
 * @weights_table_bus: its bus address
 * @queues: struct sidra_queue by number; looked up without the lock
 * @weights: struct sidra_weights_handle by index
 */
struct sidra_ctx {
	struct mutex lock;	/* of the context and what it owns */
	struct kref ref;
	struct sidra_device *sdev;
	u32 handle;
	u32 slot;
	struct sidra_account *account;
	struct sidra_user *user;
	u32 generation;
	u32 last_epoch;
	bool lost;
	bool failed;
	bool dead;
	bool revoked;
	struct sidra_fault fault;

	struct sidra_vm *vm;
	struct list_head vm_link;
	u32 next_weights;
	struct sidra_hw_queue *queue_table;
	dma_addr_t queue_table_bus;
	struct sidra_hw_weights *weights_table;
	dma_addr_t weights_table_bus;

	struct xarray queues;
	struct xarray weights;
};

static inline void sidra_ctx_release(struct kref *ref)
{
	struct sidra_ctx *ctx = container_of(ref, struct sidra_ctx, ref);

	sidra_vm_put(ctx->vm);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
}

static inline struct sidra_ctx *sidra_ctx_get(struct sidra_ctx *ctx)
{
	kref_get(&ctx->ref);
	return ctx;
}

static inline void sidra_ctx_put(struct sidra_ctx *ctx)
{
	if (ctx)
		kref_put(&ctx->ref, sidra_ctx_release);
}

DEFINE_FREE(sidra_ctx, struct sidra_ctx *, sidra_ctx_put(_T))

/* Returns the context with a reference, or NULL if the file has no such context. */
static inline struct sidra_ctx *sidra_ctx_find(struct sidra_file *sfile, u32 handle)
{
	struct sidra_ctx *ctx;

	xa_lock(&sfile->ctxs);
	ctx = xa_load(&sfile->ctxs, handle);
	if (ctx)
		sidra_ctx_get(ctx);
	xa_unlock(&sfile->ctxs);
	return ctx;
}

/* Returns the context with that number on the chip, with a reference, or NULL. */
static inline struct sidra_ctx *sidra_ctx_at(struct sidra_device *sdev, u32 slot)
{
	guard(spinlock)(&sdev->ctxs_lock);
	return sdev->ctxs[slot] ? sidra_ctx_get(sdev->ctxs[slot]) : NULL;
}

static inline void sidra_ctx_assert_held(const struct sidra_ctx *ctx)
{
	lockdep_assert(lockdep_is_held(&ctx->lock) ||
		       lockdep_is_held_type(&ctx->sdev->reset_lock, 0));
}

/*
 * Returns 0, -ENOENT if it was destroyed meanwhile, or -ESTALE if it is lost. The caller holds
 * sidra_ctx.lock.
 */
static inline int sidra_ctx_usable(const struct sidra_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (ctx->dead)
		return -ENOENT;
	return ctx->lost ? -ESTALE : 0;
}

/*
 * What follows is called under sidra_ctx.lock, or under sidra_device.reset_lock, held exclusively.
 */

/* Removes its doorbell page from all mappings. */
void sidra_ctx_revoke(struct sidra_ctx *ctx);
/* The chip no longer uses the context: stops all its queues as LOST, and wakes all waiters. */
void sidra_ctx_lose(struct sidra_ctx *ctx, enum sidra_fault_cause cause);
/* Whether a reset lost no work of its queues: see sidra_queue_drained(). */
bool sidra_ctx_drained(struct sidra_ctx *ctx);
/* Lets a drained context continue after a reset of the chip. */
void sidra_ctx_resume(struct sidra_ctx *ctx);
/* Destroys it. On return nothing of it is in flight, and everything that it owned is released. */
void sidra_ctx_destroy(struct sidra_ctx *ctx);
void sidra_ctx_destroy_all(struct sidra_file *sfile);

#endif
