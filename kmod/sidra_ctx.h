/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts: an address space, a queue table, a weights table, and what they refer to. */
#ifndef __SIDRA_CTX_H__
#define __SIDRA_CTX_H__

#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/xarray.h>

#include <sidra_accel.h>

#include "sidra_ptab.h"
#include "sidra_range.h"

struct sidra_device;
struct sidra_file;
struct sidra_queue;
struct drm_gem_object;
struct sidra_account;

/**
 * struct sidra_binding - a buffer in a context's address space
 * @obj: kept until the mapping is quiesced
 * @handle: that it was bound by
 * @va: of its first page
 */
struct sidra_binding {
	struct drm_gem_object *obj;
	u32 handle;
	u64 va;
	u64 size;
};

/**
 * struct sidra_ctx - a context; under sidra_device.lock where nothing else is said
 * @ref: the file's table, mappings of the doorbell page, calls that work on it
 * @handle: in its file; constant
 * @slot: its number on the chip; constant
 * @account: of its file, for as long as it has queues; constant
 * @generation: copied to the state pages
 * @last_epoch: that a queue was given; under sidra_device.lock
 * @next_address, @next_weights: addresses and indexes are not used again before all others were: packets that are queued, and recorded
 *        graphs, may name those of objects that are gone, and must fault rather than find others
 * @lost: the chip has forgotten it; also looked at without the lock
 * @dead: destroyed: only memory is left
 * @revoked: its doorbell must not be rung; under sidra_device.map_lock
 * @fault: the latest one of queues that are gone or were reset; of all while @lost: the loss, which may have no time
 * @queues: struct sidra_queue by number; looked up without the lock
 * @weights: struct sidra_weights_handle by index
 * @bindings: struct sidra_binding by page of the address that BIND returned
 */
struct sidra_ctx {
	struct kref ref;
	struct sidra_device *sdev;
	u32 handle;
	u32 slot;
	struct sidra_account *account;
	u32 generation;
	u32 last_epoch;
	bool lost;
	bool dead;
	bool revoked;
	struct sidra_fault fault;

	struct sidra_ptab ptab;
	struct sidra_range addresses;
	u64 next_address;
	u32 next_weights;
	struct sidra_hw_queue *queue_table;
	dma_addr_t queue_table_bus;
	struct sidra_hw_weights *weights_table;
	dma_addr_t weights_table_bus;

	struct xarray queues;
	struct xarray weights;
	struct xarray bindings;
};

void sidra_ctx_release(struct kref *ref);

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

/* A reference, or NULL: no such context of this file. */
struct sidra_ctx *sidra_ctx_find(struct sidra_file *sfile, u32 handle);

/* Under the lock: -ENOENT if it was destroyed meanwhile, -ESTALE if it is lost. */
int sidra_ctx_usable(struct sidra_ctx *ctx);

/* Its doorbell page is taken from all who have it mapped. */
void sidra_ctx_revoke(struct sidra_ctx *ctx);
/* The chip has forgotten it: from now on its state pages are the driver's; who waits is told. */
void sidra_ctx_lose(struct sidra_ctx *ctx, enum sidra_fault_cause cause);
/* The chip was reset, and did not begin anything that is in the queues: see sidra_queue_drained(). */
bool sidra_ctx_drained(struct sidra_ctx *ctx);
/* It goes on after that, as if nothing had happened. */
void sidra_ctx_resume(struct sidra_ctx *ctx);
/* Nothing of it is in flight afterwards, and all that it had is released. */
void sidra_ctx_destroy(struct sidra_ctx *ctx);
/* Of a queue that the chip has forgotten. */
void sidra_ctx_remember_fault(struct sidra_ctx *ctx, const struct sidra_queue *queue);

void sidra_ctx_destroy_all(struct sidra_file *sfile);

/* Entries of tables that the chip reads at any time, one 64-bit word after the other: complete first, then valid. */
void sidra_entry_publish(void *place, const void *entry, size_t size, size_t flags_offset);
static inline void sidra_entry_revoke(u32 *flags)
{
	WRITE_ONCE(*flags, 0);
}

#endif
