/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requirements on DMA mappings: they last long, and the chip must access the very memory that the
 * application sees.
 */
#ifndef __SIDRA_DMA_H__
#define __SIDRA_DMA_H__

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <asm/byteorder.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

/* Requirements on the machine that the driver is built for. */
#if PAGE_SHIFT != SIDRA_PAGE_SHIFT
#error "The sidra driver needs a kernel with pages of 4 KiB, as the chip's page tables have them."
#endif
/*
 * The driver converts what it shares with the chip itself. But packets, their tables and the data
 * that applications share with the chip are little-endian, too, and libsidra converts nothing.
 */
#ifndef __LITTLE_ENDIAN
#error "The sidra driver needs a little-endian machine: applications do not convert packets."
#endif

/* Requirement on the machine that it runs on: DMA is coherent with the CPU's caches. */
static inline bool sidra_dma_coherent(struct device *dev)
{
	return dev_is_dma_coherent(dev);
}

/*
 * The driver refuses memory that needs synchronisation, so two mappings of the same pages do not
 * disturb each other.
 */
#define SIDRA_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/*
 * Whether the mapping uses a bounce buffer. Behind a translating IOMMU dma_need_sync() may be true
 * for any memory (it is, in kernels with DMA debugging), but only parts of pages are bounced there,
 * and the driver maps whole pages.
 */
static inline bool sidra_dma_bounced(struct device *dev, dma_addr_t address)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && (domain->type & __IOMMU_DOMAIN_DMA_API))
		return false;
	return dma_need_sync(dev, address);
}

#endif
