// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include "sidra_ctx.h"
#include "sidra_drv.h"
#include "sidra_mmu.h"
#include "sidra_quiesce.h"

/* A gap behind each mapping, so that an overrun faults instead of reaching the neighbour. */
#define GUARD	((u64)SIDRA_PAGE_SIZE)

static void *table_alloc(void *owner, u64 *bus)
{
	struct sidra_ctx *ctx = owner;
	dma_addr_t address;
	void *table;

	table = dma_alloc_coherent(ctx->sdev->drm.dev, SIDRA_PAGE_SIZE, &address, GFP_KERNEL_ACCOUNT);
	if (table)
		*bus = address;
	return table;
}

static void table_free(void *owner, void *table, u64 bus)
{
	struct sidra_ctx *ctx = owner;

	dma_free_coherent(ctx->sdev->drm.dev, SIDRA_PAGE_SIZE, table, bus);
}

static const struct sidra_ptab_memory table_memory = {
	.alloc = table_alloc,
	.free = table_free,
};

int sidra_mmu_init(struct sidra_ctx *ctx)
{
	return sidra_ptab_init(&ctx->ptab, &table_memory, ctx);
}

int sidra_mmu_reserve(struct sidra_ctx *ctx, u64 size, u64 bus, u64 *va)
{
	u64 alignment = size >= SIDRA_HUGE_SIZE ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE;
	int ret = sidra_range_alloc(&ctx->addresses, size + GUARD, alignment, bus & (alignment - 1), ctx->next_address, va);

	if (!ret)
		ctx->next_address = *va + size + GUARD;
	return ret;
}

int sidra_mmu_map_sgt(struct sidra_ctx *ctx, u64 va, struct sg_table *sgt, u64 from, u64 size, u64 flags)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 bus = sg_dma_address(sg), length = sg_dma_len(sg), piece;
		int ret;

		if ((bus | length) & (SIDRA_PAGE_SIZE - 1) || bus & ~SIDRA_PTE_ADDR)
			return -EINVAL;
		if (from >= length) {
			from -= length;
			continue;
		}
		piece = min(length - from, size);
		ret = sidra_ptab_map(&ctx->ptab, va, bus + from, piece, flags);
		if (ret)
			return ret;
		from = 0;
		va += piece;
		size -= piece;
		if (!size)
			return 0;
	}
	return -EINVAL;	/* the table is shorter than the object */
}

int sidra_mmu_map_local(struct sidra_ctx *ctx, u64 va, u64 offset, u64 size, u64 flags)
{
	return sidra_ptab_map(&ctx->ptab, va, offset, size, flags | SIDRA_PTE_LOCAL);
}

void sidra_mmu_unmap(struct sidra_ctx *ctx, u64 va, u64 size)
{
	lockdep_assert_held(&ctx->sdev->lock);
	sidra_ptab_unmap(&ctx->ptab, va, size);
	sidra_quiesce(ctx, SIDRA_ADMIN_QUIESCE_RANGE, va, size);
	sidra_ptab_free_unlinked(&ctx->ptab);
	sidra_range_free(&ctx->addresses, va, size + GUARD);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_mmu_kunit.c"
#endif
