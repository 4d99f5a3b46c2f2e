/* SPDX-License-Identifier: GPL-2.0-only */
/* Page tables and addresses of an address space. The caller holds sidra_vm.lock. */
#ifndef __SIDRA_MMU_H__
#define __SIDRA_MMU_H__

#include <linux/types.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct sg_table;
struct sidra_vm;

/* Lower addresses are never valid, so that an address field that was left zero faults. */
#define SIDRA_VA_BEGIN	((u64)SIDRA_HUGE_SIZE)
#define SIDRA_VA_END	BIT_ULL(SIDRA_VA_BITS)

int sidra_mmu_init(struct sidra_vm *vm);
void sidra_mmu_fini(struct sidra_vm *vm);

/*
 * Reserves addresses for @size bytes (whole pages) and a guard gap, aligned like @bus where huge
 * pages are possible.
 */
int sidra_mmu_reserve(struct sidra_vm *vm, u64 size, u64 bus, u64 *va);
/*
 * The same at an address that is given, a multiple of pages. -EINVAL: beyond the address space;
 * -EEXIST: in use.
 */
int sidra_mmu_reserve_at(struct sidra_vm *vm, u64 va, u64 size);
/*
 * Maps bytes [from, from + size) of a DMA-mapped scatter table. On failure the caller unmaps
 * everything it reserved.
 */
int sidra_mmu_map_sgt(struct sidra_vm *vm, u64 va, struct sg_table *sgt, u64 from, u64 size,
		      u64 flags);
int sidra_mmu_map_local(struct sidra_vm *vm, u64 va, u64 offset, u64 size, u64 flags);
/* Unmaps [va, va + size) and frees the reservation. On return the device no longer accesses it. */
void sidra_mmu_unmap(struct sidra_vm *vm, u64 va, u64 size);
/*
 * The steps of sidra_mmu_unmap(), for several mappings: after all are cleared, one
 * sidra_mmu_quiesce() for a range with all of them waits for the device.
 */
void sidra_mmu_clear(struct sidra_vm *vm, u64 va, u64 size);
void sidra_mmu_quiesce(struct sidra_vm *vm, u64 va, u64 size);
void sidra_mmu_free(struct sidra_vm *vm, u64 va, u64 size);

#endif
