/* SPDX-License-Identifier: GPL-2.0-only */
/* Mapping for DMA, once and for long: what the chip sees is the memory that the application sees. */
#ifndef __SIDRA_DMA_H__
#define __SIDRA_DMA_H__

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <asm/byteorder.h>

#include <sidra_accel.h>

/* What the driver takes for granted of the machine that it is built for. */
#if PAGE_SHIFT != SIDRA_PAGE_SHIFT
#error "The sidra driver needs a kernel with pages of 4 KiB, as the chip's page tables have them."
#endif
#ifndef __LITTLE_ENDIAN
#error "The sidra driver needs a little-endian machine: it writes the chip's tables as they lie in memory."
#endif

/* And of the one that it runs on: caches that hold what the chip writes, with nothing to be done for it. */
static inline bool sidra_dma_coherent(struct device *dev)
{
	return dev_is_dma_coherent(dev);
}

/* Memory that needs to be synchronised is refused: two mappings of the same pages do not disturb each other. */
#define SIDRA_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/*
 * Whether the chip was given a copy. Behind an IOMMU that translates dma_need_sync() may say so of any memory (it does in
 * kernels that debug DMA), but only parts of pages are copied there, and we map whole ones.
 */
static inline bool sidra_dma_bounced(struct device *dev, dma_addr_t address)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && (domain->type & __IOMMU_DOMAIN_DMA_API))
		return false;
	return dma_need_sync(dev, address);
}

#endif
