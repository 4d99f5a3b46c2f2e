// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_mmu.h"
#include "sidra_quiesce.h"
#include "sidra_vm.h"

/* A gap behind each mapping, so that an overrun faults instead of reaching the neighbour. */
#define GUARD	((u64)SIDRA_PAGE_SIZE)

static void *sidra_mmu_table_alloc(void *owner, u64 *bus)
{
	struct sidra_vm *vm = owner;
	dma_addr_t address;
	void *table;

	table = dma_alloc_coherent(vm->sdev->drm.dev, SIDRA_PAGE_SIZE, &address,
				   GFP_KERNEL_ACCOUNT);
	if (table)
		*bus = address;
	return table;
}

static void sidra_mmu_table_free(void *owner, void *table, u64 bus)
{
	struct sidra_vm *vm = owner;

	dma_free_coherent(vm->sdev->drm.dev, SIDRA_PAGE_SIZE, table, bus);
}

static const struct sidra_ptab_memory table_memory = {
	.alloc = sidra_mmu_table_alloc,
	.free = sidra_mmu_table_free,
};

int sidra_mmu_init(struct sidra_vm *vm)
{
	int ret = sidra_range_init(&vm->addresses, SIDRA_VA_BEGIN, SIDRA_VA_END);

	if (ret)
		return ret;
	ret = sidra_ptab_init(&vm->ptab, &table_memory, vm);
	if (ret)
		sidra_range_fini(&vm->addresses);
	return ret;
}

void sidra_mmu_fini(struct sidra_vm *vm)
{
	sidra_ptab_fini(&vm->ptab);
	sidra_range_fini(&vm->addresses);
}

int sidra_mmu_reserve(struct sidra_vm *vm, u64 size, u64 bus, u64 *va)
{
	u64 alignment = size >= SIDRA_HUGE_SIZE ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE;
	int ret = sidra_range_alloc(&vm->addresses, size + GUARD, alignment, bus & (alignment - 1),
				    vm->next_address, va);

	if (!ret)
		vm->next_address = *va + size + GUARD;
	return ret;
}

int sidra_mmu_reserve_at(struct sidra_vm *vm, u64 va, u64 size)
{
	int ret;

	if (va < SIDRA_VA_BEGIN || va > SIDRA_VA_END || size + GUARD > SIDRA_VA_END - va)
		return -EINVAL;
	ret = sidra_range_reserve(&vm->addresses, va, size + GUARD);
	return ret == -ENOSPC ? -EEXIST : ret;
}

int sidra_mmu_map_sgt(struct sidra_vm *vm, u64 va, struct sg_table *sgt, u64 from, u64 size,
		      u64 flags)
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
		ret = sidra_ptab_map(&vm->ptab, va, bus + from, piece, flags);
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

int sidra_mmu_map_local(struct sidra_vm *vm, u64 va, u64 offset, u64 size, u64 flags)
{
	return sidra_ptab_map(&vm->ptab, va, offset, size, flags | SIDRA_PTE_LOCAL);
}

void sidra_mmu_clear(struct sidra_vm *vm, u64 va, u64 size)
{
	lockdep_assert_held(&vm->lock);
	sidra_ptab_unmap(&vm->ptab, va, size);
}

void sidra_mmu_quiesce(struct sidra_vm *vm, u64 va, u64 size)
{
	struct sidra_ctx *ctx;

	lockdep_assert_held(&vm->lock);
	list_for_each_entry(ctx, &vm->ctxs, vm_link)
		sidra_quiesce(ctx, SIDRA_ADMIN_QUIESCE_RANGE, va, size);
	sidra_ptab_free_unlinked(&vm->ptab);
}

void sidra_mmu_free(struct sidra_vm *vm, u64 va, u64 size)
{
	lockdep_assert_held(&vm->lock);
	sidra_range_free(&vm->addresses, va, size + GUARD);
}

void sidra_mmu_unmap(struct sidra_vm *vm, u64 va, u64 size)
{
	sidra_mmu_clear(vm, va, size);
	sidra_mmu_quiesce(vm, va, size);
	sidra_mmu_free(vm, va, size);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_mmu_kunit.c"
#endif
