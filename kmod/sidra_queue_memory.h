/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a queue that the chip accesses: ring, write index and state page. */
#ifndef __SIDRA_QUEUE_MEMORY_H__
#define __SIDRA_QUEUE_MEMORY_H__

#include <linux/types.h>

struct sidra_queue;

/* Each allocates and maps for DMA; what a failure leaves is freed as after success: 0 or -errno. */
int sidra_queue_alloc_state(struct sidra_queue *queue);
int sidra_queue_alloc_user_ring(struct sidra_queue *queue);
int sidra_queue_alloc_kernel_ring(struct sidra_queue *queue);
/* Unmaps and frees the memory that the chip can access; done before remove() returns. */
void sidra_queue_unmap_memory(struct sidra_queue *queue);

/*
 * Begins another epoch at @start, for a queue that the chip does not run. In the epoch that ends,
 * packets before @retired have retired. Under submit_lock: a kernel queue may then be given
 * packets. sidra_queue_continue() follows.
 */
void sidra_queue_begin_epoch(struct sidra_queue *queue, u32 epoch, u64 retired, u64 start);
/* Wakes the waiters of the former epoch, and prepares the state page for the chip; no lock held. */
void sidra_queue_continue(struct sidra_queue *queue, u64 start);

#endif
