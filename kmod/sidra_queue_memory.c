// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/mm.h>

#include "sidra_device.h"
#include "sidra_dma.h"
#include "sidra_queue.h"
#include "sidra_queue_memory.h"

int sidra_queue_alloc_state(struct sidra_queue *queue)
{
	struct device *dev = queue->sdev->drm.dev;

	queue->state_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!queue->state_page)
		return -ENOMEM;
	queue->state_bus = dma_map_page(dev, queue->state_page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, queue->state_bus)) {
		__free_page(queue->state_page);
		queue->state_page = NULL;
		return -ENOMEM;
	}
	queue->timeline.state = page_address(queue->state_page);
	return sidra_dma_bounced(dev, queue->state_bus) ? -EOPNOTSUPP : 0;
}

int sidra_queue_alloc_user_ring(struct sidra_queue *queue)
{
	unsigned long count = queue->ring_size >> PAGE_SHIFT;
	int ret;

	queue->pages = kvcalloc(count, sizeof(*queue->pages), GFP_KERNEL_ACCOUNT);
	if (!queue->pages)
		return -ENOMEM;
	for (; queue->page_count < count; queue->page_count++) {
		queue->pages[queue->page_count] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!queue->pages[queue->page_count])
			return -ENOMEM;
	}
	ret = sg_alloc_table_from_pages(&queue->sgt, queue->pages, count, 0, queue->ring_size,
					GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	ret = dma_map_sgtable(queue->sdev->drm.dev, &queue->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		/* Sets sgl to NULL, which means that the table is not mapped */
		sg_free_table(&queue->sgt);
	return ret;
}

int sidra_queue_alloc_kernel_ring(struct sidra_queue *queue)
{
	struct device *dev = queue->sdev->drm.dev;

	queue->ring = dma_alloc_coherent(dev, queue->index_offset, &queue->ring_bus,
					 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	queue->index = dma_alloc_coherent(dev, PAGE_SIZE, &queue->index_bus, GFP_KERNEL_ACCOUNT);
	queue->timeline.req_slots = kvcalloc(sidra_queue_capacity(queue),
					     sizeof(*queue->timeline.req_slots),
					     GFP_KERNEL_ACCOUNT);
	queue->timeline.req_mask = sidra_queue_capacity(queue) - 1;
	return queue->ring && queue->index && queue->timeline.req_slots ? 0 : -ENOMEM;
}

void sidra_queue_unmap_memory(struct sidra_queue *queue)
{
	struct device *dev = queue->sdev->drm.dev;

	if (queue->state_page)
		dma_unmap_page(dev, queue->state_bus, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (queue->sgt.sgl) {
		dma_unmap_sgtable(dev, &queue->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(&queue->sgt);
	}
	if (queue->ring)
		dma_free_coherent(dev, queue->index_offset, queue->ring, queue->ring_bus);
	if (queue->index)
		dma_free_coherent(dev, PAGE_SIZE, queue->index, queue->index_bus);
	queue->ring = NULL;
	queue->index = NULL;
}

/* Not in sidra_queue_release(), whose caller may hold a spinlock, which vfree() must not. */
static void sidra_queue_memory_free(struct rcu_head *rcu)
{
	struct sidra_queue *queue = container_of(rcu, struct sidra_queue, rcu);

	kvfree(queue->pages);
	kvfree(queue->timeline.req_slots);
	kfree(queue);
}

void sidra_queue_release(struct kref *ref)
{
	struct sidra_queue *queue = container_of(ref, struct sidra_queue, ref);
	unsigned long i;

	for (i = 0; i < queue->page_count; i++)
		put_page(queue->pages[i]);
	if (queue->state_page)
		put_page(queue->state_page);
	call_rcu(&queue->rcu, sidra_queue_memory_free);
}

void sidra_queue_begin_epoch(struct sidra_queue *queue, u32 epoch, u64 retired, u64 start)
{
	struct sidra_queue_state *state = queue->timeline.state;

	lockdep_assert_held(&queue->submit_lock);
	/* Before the epoch: whoever sees that may wait for its points, which will be reached */
	WRITE_ONCE(state->run_state, cpu_to_le32(SIDRA_QUEUE_IDLE));
	/* Read by the chip */
	smp_store_release(sidra_queue_index(queue), cpu_to_le64(start));
	queue->epoch_start = start;
	sidra_timeline_begin_epoch(&queue->timeline, epoch, retired);
}

void sidra_queue_continue(struct sidra_queue *queue, u64 start)
{
	struct sidra_queue_state *state = queue->timeline.state;

	sidra_timeline_continue(&queue->timeline, start);
	/* Who reads the record meanwhile finds that the epoch has changed, and reads again */
	smp_wmb();
	memset(&state->fault, 0, sizeof(state->fault));
	WRITE_ONCE(state->parked, 0);
}
