// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include <drm/drm_managed.h>

#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_trace.h"

#define READY_TIMEOUT_MS	5000

DEFINE_STATIC_KEY_FALSE(sidra_counting);

u32 sidra_read32(struct sidra_device *sdev, u32 reg)
{
	u32 value = readl(sdev->chip.regs + reg);

	sidra_count(sdev, mmio_reads);
	trace_sidra_reg_read(sdev->ordinal, reg, value);
	return value;
}

u64 sidra_read64(struct sidra_device *sdev, u32 reg)
{
	u64 value = readq(sdev->chip.regs + reg);

	sidra_count(sdev, mmio_reads);
	trace_sidra_reg_read(sdev->ordinal, reg, value);
	return value;
}

void sidra_write32(struct sidra_device *sdev, u32 reg, u32 value)
{
	sidra_count(sdev, mmio_writes);
	trace_sidra_reg_write(sdev->ordinal, reg, value);
	writel(value, sdev->chip.regs + reg);
}

void sidra_write64(struct sidra_device *sdev, u32 reg, u64 value)
{
	sidra_count(sdev, mmio_writes);
	trace_sidra_reg_write(sdev->ordinal, reg, value);
	writeq(value, sdev->chip.regs + reg);
}

static void sidra_chip_read_info(struct sidra_device *sdev, struct sidra_info *info)
{
	__le32 bytes;
	u32 word, i;

	info->hw_version = sidra_read32(sdev, SIDRA_REG_HW_VERSION);
	info->features = sidra_read64(sdev, SIDRA_REG_FEATURES);
	word = sidra_read32(sdev, SIDRA_REG_GEOMETRY0);
	info->clusters = word & 0xffff;
	info->cus_per_cluster = word >> 16;
	info->xbars_per_cu = sidra_read32(sdev, SIDRA_REG_GEOMETRY1);
	word = sidra_read32(sdev, SIDRA_REG_GEOMETRY2);
	info->rows = word & 0xffff;
	info->cols = word >> 16;
	word = sidra_read32(sdev, SIDRA_REG_LIMITS0);
	info->contexts = min(word & 0xffff, SIDRA_CONTEXTS_MAX);
	info->queues = word >> 16;
	word = sidra_read32(sdev, SIDRA_REG_LIMITS1);
	info->queues_per_context = min(word & 0xffff, SIDRA_QUEUES_PER_CONTEXT_MAX);
	info->va_bits = sidra_read32(sdev, SIDRA_REG_VA_BITS);
	info->l1_size = sidra_read32(sdev, SIDRA_REG_L1_SIZE);
	info->l2_size = sidra_read32(sdev, SIDRA_REG_L2_SIZE);
	info->l3_size = sidra_read64(sdev, SIDRA_REG_L3_SIZE);
	info->nvm_size = sidra_read64(sdev, SIDRA_REG_NVM_SIZE);
	for (i = 0; i < sizeof(info->uuid); i += 4) {
		bytes = cpu_to_le32(sidra_read32(sdev, SIDRA_REG_UUID + i));
		memcpy(info->uuid + i, &bytes, sizeof(bytes));
	}
}

bool sidra_chip_answers(struct sidra_device *sdev)
{
	return !pci_channel_offline(sdev->pdev) &&
		sidra_read32(sdev, SIDRA_REG_ID) == SIDRA_ID_MAGIC;
}

int sidra_chip_wait_ready(struct sidra_device *sdev, unsigned int timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	bool late;
	u32 status;

	do {
		late = time_after(jiffies, end);
		if (!sidra_chip_answers(sdev))
			return -ENODEV;
		status = sidra_read32(sdev, SIDRA_REG_STATUS);
		if ((status & SIDRA_STATUS_READY) && !(status & SIDRA_STATUS_FATAL))
			return 0;
		usleep_range(100, 1000);
	} while (!late);
	drm_err(&sdev->drm, "the chip does not become ready (status %#x)\n", status);
	return -ENODEV;
}

int sidra_chip_init(struct sidra_device *sdev)
{
	struct sidra_chip *chip = &sdev->chip;
	u32 id = sidra_read32(sdev, SIDRA_REG_ID);
	u64 xbars;
	int ret;

	if (id != SIDRA_ID_MAGIC) {
		drm_err(&sdev->drm, "the chip does not answer (identity register reads %#x)\n", id);
		return -ENODEV;
	}
	ret = sidra_chip_wait_ready(sdev, READY_TIMEOUT_MS);
	if (ret)
		return ret;
	/*
	 * Another driver or kernel may have used the chip: its work must not continue, nor its data
	 * remain in L3.
	 */
	chip->used = sidra_read32(sdev, SIDRA_REG_GENERATION) ||
		sidra_read32(sdev, SIDRA_REG_CONTROL) ||
		sidra_read64(sdev, SIDRA_REG_CONTEXT_TABLE);
	if (chip->used) {
		sidra_write32(sdev, SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
		ret = sidra_chip_wait_ready(sdev, READY_TIMEOUT_MS);
		if (ret)
			return ret;
	}
	sidra_chip_read_info(sdev, &chip->info);
	if (chip->info.hw_version >> 16 != SIDRA_HW_VERSION_MAJOR) {
		drm_err(&sdev->drm,
			"the chip has hardware interface %u.%u, this driver supports %u.x\n",
			chip->info.hw_version >> 16, chip->info.hw_version & 0xffff,
			SIDRA_HW_VERSION_MAJOR);
		return -EPROTO;
	}
	/* The registers are not trusted: values that the driver computes with must be in range. */
	xbars = (u64)chip->info.clusters * chip->info.cus_per_cluster * chip->info.xbars_per_cu;
	if (!xbars || xbars > 1u << 24 || chip->info.rows != SIDRA_XBAR_ROWS ||
	    chip->info.cols != SIDRA_XBAR_COLS || !chip->info.contexts || !chip->info.queues ||
	    !chip->info.queues_per_context || chip->info.va_bits != SIDRA_VA_BITS ||
	    chip->info.nvm_size < SIDRA_NVM_DATA_OFFSET) {
		drm_err(&sdev->drm,
			"the chip's registers report a geometry that this driver does not support\n");
		return -EPROTO;
	}
	return 0;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_chip_kunit.c"
#endif
