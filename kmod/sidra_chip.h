/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers: the only place that reads and writes them; what the chip says about itself; admin commands. */
#ifndef __SIDRA_CHIP_H__
#define __SIDRA_CHIP_H__

#include <linux/completion.h>
#include <linux/types.h>

#include <sidra_accel.h>

struct sidra_device;

struct sidra_info {
	u32 hw_version;
	u32 clusters, cus_per_cluster, xbars_per_cu, rows, cols;
	u32 contexts, queues, queues_per_context;
	u32 va_bits, l1_size, l2_size;
	u64 features, l3_size, nvm_size;
	u8 uuid[16];
};

/**
 * struct sidra_chip - access to the hardware
 * @regs: BAR0
 * @info: constant
 * @used: it ran before this driver
 * @vectors: MSI-X vectors that we got; 0 is for admin commands and faults
 * @admin_done: an interrupt said that a command may be done
 * @admin_op, @admin_tag: of the latest command
 * @bounce: SIDRA_BOUNCE_SIZE bytes for commands that move data
 * @headers: as many, for those that nobody resets the chip for: one that was given up may still store
 */
struct sidra_chip {
	void __iomem *regs;
	struct sidra_info info;
	bool used;
	unsigned int vectors;
	struct completion admin_done;
	u16 admin_tag;
	u32 admin_op;
	void *bounce;
	dma_addr_t bounce_bus;
	void *headers;
	dma_addr_t headers_bus;
};

#define SIDRA_BOUNCE_SIZE	65536u

u32 sidra_read32(struct sidra_device *sdev, u32 reg);
u64 sidra_read64(struct sidra_device *sdev, u32 reg);
void sidra_write32(struct sidra_device *sdev, u32 reg, u32 value);
void sidra_write64(struct sidra_device *sdev, u32 reg, u64 value);

/* Whether somebody answers: a card that was pulled reads as ones, or (in QEMU) as zeros. */
bool sidra_chip_answers(struct sidra_device *sdev);
/* Waits for that and for the chip to be ready: 0, or -ENODEV. */
int sidra_chip_wait_ready(struct sidra_device *sdev, unsigned int timeout_ms);
/* Finds the chip, checks that we understand it, reads what it says about itself. */
int sidra_chip_init(struct sidra_device *sdev);
/* Gives it the context table and lets it run. */
void sidra_chip_enable(struct sidra_device *sdev);

static inline u32 sidra_xbars_of(const struct sidra_info *info)
{
	return info->clusters * info->cus_per_cluster * info->xbars_per_cu;
}

/*
 * One admin command, under sidra_device.lock: enum sidra_admin_result, or -ETIMEDOUT, -EBUSY (an earlier one never
 * ended), -ENODEV.
 */
int sidra_admin_raw(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2);

/* The same; a command without an end costs a device reset and is tried once more. 0, -EIO or -ENODEV. */
int sidra_admin(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2);

#endif
