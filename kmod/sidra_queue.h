/* SPDX-License-Identifier: GPL-2.0-only */
/* User queues and kernel queues. */
#ifndef __SIDRA_QUEUE_H__
#define __SIDRA_QUEUE_H__

#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "sidra_ctx.h"
#include "sidra_irq.h"
#include "sidra_usage.h"
#include "sidra_watch.h"

/**
 * struct sidra_queue - a queue; fields are constant where no lock is named
 * @ref: held by the context's table, by mappings, by jobs, and by calls that wait for it or submit
 *       to it
 * @rcu: frees the struct, see sidra_uring_req_del()
 * @sdev: the device; open files and fences that refer to the queue keep it
 * @ctx_handle: handle of its context in the file
 * @slot: number of its context on the chip
 * @number: its number in the context
 * @kind: SIDRA_QUEUE_USER or SIDRA_QUEUE_KERNEL
 * @ring_log2: its ring has 1 << @ring_log2 packets
 * @priority: as QUEUE_CREATE and the chip have it
 * @index_offset: of a user queue: offset of the write index in the ring memory
 * @report_offset: the same of the reports; 0 without reports
 * @ring_size: size of the ring memory in bytes
 * @pages: ring memory of a user queue, mapped for DMA by @sgt until the queue is dropped
 * @page_count: their number
 * @sgt: the mapping
 * @ring_va: device address of that memory
 * @ring: of a kernel queue: its packets
 * @ring_bus: their bus address
 * @index: of a kernel queue: its write index
 * @index_bus: its bus address
 * @state_page: the state page, mapped for DMA until the queue is dropped
 * @state_bus: its bus address
 * @destroyed: the queue was destroyed; waits for it fail with -ENOENT
 * @timeline: its value, waiters and interrupts
 * @watch: the watchdog's data
 * @use: device use, for the accounting of its file
 * @fence_lock: protects @fence_seqno, so that fences are numbered in ring order; taken before
 *              @submit_lock
 * @fence_seqno: number of the latest fence
 * @submit_lock: protects the ring of a kernel queue, @epoch_start, @reserved, @published, @jobs and
 *               @running
 * @epoch_start: ring index where the epoch that runs began, of a user queue, too. The timeline is
 *               before it while a reset wakes waiters
 * @reserved: ring index that the next SUBMIT gets
 * @published: write index that the chip sees
 * @jobs: struct sidra_job in ring order whose packets were not published yet
 * @running: those before them, until they have finished
 * @fence_context: context of its fences; constant
 * @publish_work: publishes jobs whose fences have signalled
 * @watchdog: ends jobs whose time is up
 */
struct sidra_queue {
	struct kref ref;
	struct rcu_head rcu;
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
	__le64 *index;
	dma_addr_t index_bus;

	struct page *state_page;
	dma_addr_t state_bus;
	bool destroyed;
	struct sidra_timeline timeline;
	struct sidra_queue_watch watch;
	struct sidra_use use;

	struct mutex fence_lock;	/* of @fence_seqno */
	u64 fence_seqno;

	spinlock_t submit_lock;		/* of the ring, and what follows */
	u64 epoch_start;
	u64 reserved;
	u64 published;
	struct list_head jobs, running;
	u64 fence_context;
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

/* Returns the queue with a reference, or NULL if there is none. Needs no lock. */
static inline struct sidra_queue *sidra_queue_find(struct sidra_ctx *ctx, u32 number)
{
	struct sidra_queue *queue;

	xa_lock(&ctx->queues);
	queue = xa_load(&ctx->queues, number);
	if (queue)
		sidra_queue_get(queue);
	xa_unlock(&ctx->queues);
	return queue;
}

/*
 * Records why a queue stopped that the chip no longer runs, and wakes its waiters. This and what
 * follows is called as the functions of sidra_ctx.h.
 */
void sidra_queue_stop(struct sidra_queue *queue, u32 run_state, enum sidra_fault_cause cause);
/*
 * Stops a queue that makes no progress. If the chip does not acknowledge that, its context or the
 * device is reset.
 */
void sidra_queue_time_out(struct sidra_ctx *ctx, struct sidra_queue *queue);
/* Replaces @latest with @fault, unless that is older. */
void sidra_fault_keep_latest(struct sidra_fault *latest, const struct sidra_fault *fault);
/*
 * The write index that the chip reads. That of a user queue is written by the user, and may have
 * any value.
 */
static inline __le64 *sidra_queue_index(const struct sidra_queue *queue)
{
	if (queue->kind == SIDRA_QUEUE_KERNEL)
		return queue->index;
	return page_address(queue->pages[queue->index_offset >> PAGE_SHIFT]);
}

/* Number of packets that have not retired, if the write index is valid. */
static inline u64 sidra_queue_unretired(const struct sidra_queue *queue)
{
	return le64_to_cpu(READ_ONCE(*sidra_queue_index(queue))) -
	       sidra_timeline_value(&queue->timeline);
}

/*
 * Whether a reset of the chip loses no work: the queue has stopped, is empty, or waits in a
 * SEM_WAIT. The answer is final once the chip has been reset, because a reset changes no state
 * page.
 */
bool sidra_queue_drained(const struct sidra_queue *queue);
/*
 * After such a reset: lets a drained queue continue where it was, once its context is valid and its
 * doorbell was rung.
 */
void sidra_queue_resume(struct sidra_ctx *ctx, struct sidra_queue *queue);
/*
 * Stops it on the chip, and removes it from its context; mappings keep its memory.
 */
void sidra_queue_remove(struct sidra_ctx *ctx, struct sidra_queue *queue);
/* The same for a queue that the chip no longer runs. */
void sidra_queue_drop(struct sidra_ctx *ctx, struct sidra_queue *queue);
/*
 * Rings the doorbells of all queues of a context, so that the chip evaluates their SEM_WAITs again.
 */
void sidra_queue_ring_all(struct sidra_ctx *ctx);

#endif
