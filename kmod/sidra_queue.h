/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware queues of both kinds. */
#ifndef __SIDRA_QUEUE_H__
#define __SIDRA_QUEUE_H__

#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "sidra_irq.h"
#include "sidra_usage.h"
#include "sidra_watch.h"

struct sidra_ctx;
struct sidra_device;

/**
 * struct sidra_queue - a queue; what is not said to be under a lock is constant
 * @ref: the context's table, mappings, calls that wait for it or submit to it
 * @sdev: kept by the open files and fences that keep the queue
 * @ctx_handle: in its file
 * @slot, @number: on the chip
 * @index_offset, @report_offset, @ring_size: where things are in the ring memory of a user queue; no reports: 0
 * @pages: ring memory of a user queue, mapped for DMA by @sgt until it is dropped
 * @ring_va: its device address
 * @ring, @index: of a kernel queue, contiguous
 * @state_page, @state_bus: mapped until it is dropped
 * @destroyed: what waits for it is told -ENOENT
 * @point: for interrupts
 * @watch: of the watchdog
 * @use: its part of what its file has used
 */
struct sidra_queue {
	struct kref ref;
	struct sidra_device *sdev;
	u32 ctx_handle;
	u32 slot, number;
	u32 kind, ring_log2, priority;
	u64 index_offset, report_offset, ring_size;

	struct page **pages;
	unsigned long page_count;
	struct sg_table sgt;
	u64 ring_va;

	union sidra_cmd *ring;
	dma_addr_t ring_bus;
	u64 *index;
	dma_addr_t index_bus;

	struct page *state_page;
	dma_addr_t state_bus;
	bool destroyed;
	struct sidra_point point;
	struct sidra_queue_watch watch;
	struct sidra_use use;

	/* Protects @fence_seqno: the order of fences is the order in the ring. Outside of submit_lock. */
	struct mutex fence_lock;
	u64 fence_seqno;

	/* Protects the ring of a kernel queue: @reserved, @published, @jobs, and who writes where. */
	spinlock_t submit_lock;
	u64 reserved;			/* ring index that the next SUBMIT gets */
	u64 published;			/* what the chip was told */
	struct list_head jobs;		/* with fences, in ring order; see sidra_submit.c */
	u64 fence_context;		/* constant */
	struct work_struct publish_work;
	struct delayed_work watchdog;
};

void sidra_queue_release(struct kref *ref);

static inline struct sidra_queue *sidra_queue_get(struct sidra_queue *queue)
{
	kref_get(&queue->ref);
	return queue;
}

static inline void sidra_queue_put(struct sidra_queue *queue)
{
	if (queue)
		kref_put(&queue->ref, sidra_queue_release);
}

DEFINE_FREE(sidra_queue, struct sidra_queue *, sidra_queue_put(_T))

static inline u64 sidra_queue_capacity(const struct sidra_queue *queue)
{
	return 1ull << queue->ring_log2;
}

/* A reference, or NULL: no such queue. Needs no lock. */
struct sidra_queue *sidra_queue_find(struct sidra_ctx *ctx, u32 number);

/* The chip has forgotten it: writes why to its state page, tells all who wait. Under sidra_device.lock. */
void sidra_queue_stop(struct sidra_queue *queue, u32 run_state, enum sidra_fault_cause cause);
/* It does not get on: stopped with a record of that, and if the chip does not let go of it, more than that. */
void sidra_queue_time_out(struct sidra_ctx *ctx, struct sidra_queue *queue);
/*
 * Of a queue that the chip has forgotten: it goes on at @start in another epoch, and who waits for the one that ends, of which all before
 * @retired has retired, is woken. Under submit_lock for a kernel queue.
 */
void sidra_queue_begin_epoch(struct sidra_queue *queue, u32 epoch, u64 retired, u64 start);
/* Its write index, as the chip reads it; of a user queue it is the user's. */
u64 *sidra_queue_index(const struct sidra_queue *queue);
/* How many packets are in front of it, as far as that index can be believed. */
static inline u64 sidra_queue_unretired(const struct sidra_queue *queue)
{
	return READ_ONCE(*sidra_queue_index(queue)) - sidra_point_timeline(&queue->point);
}

/*
 * It stopped, ran empty, or waits: it has begun nothing. Sure once the chip has been reset, which changes no state page.
 */
bool sidra_queue_drained(const struct sidra_queue *queue);
/* After such a reset, of a queue that was drained: it goes on where it was once its context and its doorbell say so. */
void sidra_queue_resume(struct sidra_ctx *ctx, struct sidra_queue *queue);
/* Takes it from the chip, and out of its context; mappings keep its memory. Under sidra_device.lock. */
void sidra_queue_remove(struct sidra_ctx *ctx, struct sidra_queue *queue);
/* As the latter, of a queue that the chip has forgotten. */
void sidra_queue_drop(struct sidra_ctx *ctx, struct sidra_queue *queue);
/* Rings the doorbells of all queues of a context: one that they wait for may be gone, or have moved. */
void sidra_queue_ring_all(struct sidra_ctx *ctx);

#endif
