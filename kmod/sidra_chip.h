/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to registers (nothing else reads or writes them), and identity of the chip. */
#ifndef __SIDRA_CHIP_H__
#define __SIDRA_CHIP_H__

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct sidra_device;

/**
 * struct sidra_info - identity of the chip, from its registers
 * @hw_version: version of the hardware contract: major << 16 | minor
 * @clusters: clusters of the chip
 * @cus_per_cluster: compute units of a cluster
 * @xbars_per_cu: crossbars of a compute unit
 * @rows: rows of a crossbar
 * @cols: columns of a crossbar
 * @contexts: contexts that may exist at once
 * @queues: queues that may exist at once
 * @queues_per_context: queues that one context may have
 * @va_bits: width of a device address
 * @l1_size: bytes of memory in a compute unit
 * @l2_size: bytes of memory in a cluster
 * @features: SIDRA_FEATURE_*
 * @l3_size: bytes of L3
 * @nvm_size: bytes of the non-volatile memory, which has the directory of named weights
 * @uuid: identity of the chip
 */
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
 * @used: another driver or kernel has used it before
 * @vectors: number of allocated MSI-X vectors; vector 0 is for admin commands and faults
 * @admin_lock: protects the channel for admin commands, @admin_done, @admin_tag, @admin_op,
 *              @bounce, @headers, sidra_recovery.dumped and sidra_ctx.failed
 * @admin_done: completed by an interrupt when a command may be done
 * @admin_tag: tag of the latest command
 * @admin_op: its operation
 * @bounce: SIDRA_BOUNCE_SIZE bytes for commands that move data
 * @bounce_bus: its bus address
 * @headers: another such buffer, for sidra_store_headers(): after a timeout, which causes no reset
 *           there, the chip may still write to it
 * @headers_bus: its bus address
 */
struct sidra_chip {
	void __iomem *regs;
	struct sidra_info info;
	bool used;
	unsigned int vectors;
	struct mutex admin_lock;	/* of the channel for commands */
	struct completion admin_done;
	u16 admin_tag;
	u32 admin_op;
	void *bounce;
	dma_addr_t bounce_bus;
	void *headers;
	dma_addr_t headers_bus;
};

#define SIDRA_BOUNCE_SIZE	65536u	/* the most that one admin command moves */

u32 sidra_read32(struct sidra_device *sdev, u32 reg);
u64 sidra_read64(struct sidra_device *sdev, u32 reg);
void sidra_write32(struct sidra_device *sdev, u32 reg, u32 value);
void sidra_write64(struct sidra_device *sdev, u32 reg, u64 value);

/*
 * Whether the chip answers. The registers of a removed card read as all ones, or in QEMU as zeros.
 */
bool sidra_chip_answers(struct sidra_device *sdev);
/* Waits until the chip answers and is ready: 0 or -ENODEV. */
int sidra_chip_wait_ready(struct sidra_device *sdev, unsigned int timeout_ms);
/*
 * Checks that the chip is present and supported, resets it if it was used before, and reads its
 * identity.
 */
int sidra_chip_init(struct sidra_device *sdev);

static inline u32 sidra_xbars_of(const struct sidra_info *info)
{
	return info->clusters * info->cus_per_cluster * info->xbars_per_cu;
}

#endif
