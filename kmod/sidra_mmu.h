/* SPDX-License-Identifier: GPL-2.0-only */
/* Address spaces of contexts; under sidra_device.lock. */
#ifndef __SIDRA_MMU_H__
#define __SIDRA_MMU_H__

#include <linux/types.h>

#include <sidra_accel.h>

struct sg_table;
struct sidra_ctx;

/* What is below is never a valid device address, so that a forgotten address field faults. */
#define SIDRA_VA_BEGIN	((u64)SIDRA_HUGE_SIZE)
#define SIDRA_VA_END	(1ull << SIDRA_VA_BITS)

int sidra_mmu_init(struct sidra_ctx *ctx);

/* Addresses for @size bytes (whole pages), and a guard behind; in phase with @bus where huge pages may come of it. */
int sidra_mmu_reserve(struct sidra_ctx *ctx, u64 size, u64 bus, u64 *va);
/* Maps bytes [from, from + size) of a table that is mapped for DMA. On failure the caller unmaps all it reserved. */
int sidra_mmu_map_sgt(struct sidra_ctx *ctx, u64 va, struct sg_table *sgt, u64 from, u64 size, u64 flags);
int sidra_mmu_map_local(struct sidra_ctx *ctx, u64 va, u64 offset, u64 size, u64 flags);
/* Returns once the device does not touch [va, va + size) any more; what reserve() gave is free again. */
void sidra_mmu_unmap(struct sidra_ctx *ctx, u64 va, u64 size);

#endif
