/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Hardware contract of a SIDRA chip: registers, tables in memory, page tables, mailbox, firmware
 * image and weights directory. The chip model, the QEMU device, the driver and the firmware use it.
 *
 * Rules
 * - Everything is little-endian. Reserved fields and reserved register bits are written as zero;
 *   registers that do not exist read 0 and ignore writes. Access sizes: 4 bytes, or 8 bytes where a
 *   register is marked (64).
 * - A "bus address" is an address on PCI (an IOVA behind an IOMMU). A "device address" (VA) is an
 *   address in packets.
 * - The chip never caches an entry of a table or page table that is not valid, so making an entry
 *   valid needs no command. Before the driver changes an entry or frees its memory, it clears the
 *   entry, issues a QUIESCE of its scope, and waits for the acknowledgement.
 * - A new major version is not compatible; a new minor version only adds.
 */
#ifndef SIDRA_HW_H
#define SIDRA_HW_H

#include "sidra_state.h"
#include "sidra_monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- PCI ------------------------------------------------------------------------------------- */

/* Placeholder ids of the model, without a registered vendor. A product must replace them. */
#define SIDRA_PCI_VENDOR_ID	0x5349u
#define SIDRA_PCI_DEVICE_ID	0x5931u
#define SIDRA_PCI_CLASS		0x120000u	/* processing accelerator */

#define SIDRA_BAR_REGS		0		/* 64-bit: registers, ARM page, doorbells, MSI-X */
#define SIDRA_BAR_REGS_SIZE	0x1000000u	/* 16 MiB */
#define SIDRA_BAR_L3		2		/* 64-bit, prefetchable: window onto L3 SRAM */

/* 0: admin and faults; 1..31: queue groups, chosen by the queue entry */
#define SIDRA_MSIX_VECTORS	32u
#define SIDRA_MSIX_ADMIN	0u

/* ---- Limits of the architecture (a chip reports its own in registers) ------------------------ */

#define SIDRA_CONTEXTS_MAX		64u
#define SIDRA_QUEUES_PER_CONTEXT_MAX	256u
#define SIDRA_QUEUES_MAX		1024u	/* running at once on one chip */
#define SIDRA_WEIGHTS_MAX		4096u	/* entries in one context's weights table */

/* ---- BAR0 ------------------------------------------------------------------------------------ */

/* Identity: constant. */
#define SIDRA_REG_ID			0x0000u	/* SIDRA_ID_MAGIC; ones or 0 if link is lost */
#define   SIDRA_ID_MAGIC		0x41524453u	/* "SDRA" */
#define SIDRA_REG_HW_VERSION		0x0004u	/* major << 16 | minor */
#define SIDRA_REG_FEATURES		0x0008u	/* (64) SIDRA_FEATURE_* */
#define SIDRA_REG_GEOMETRY0		0x0010u	/* clusters | CUs per cluster << 16 */
#define SIDRA_REG_GEOMETRY1		0x0014u	/* crossbars per CU */
#define SIDRA_REG_GEOMETRY2		0x0018u	/* rows | columns << 16, of a crossbar */
#define SIDRA_REG_LIMITS0		0x001cu	/* contexts | queues << 16 */
#define SIDRA_REG_LIMITS1		0x0020u	/* queues per context | MSI-X vectors << 16 */
#define SIDRA_REG_VA_BITS		0x0024u	/* width of a device address */
#define SIDRA_REG_L1_SIZE		0x0028u	/* bytes a CU */
#define SIDRA_REG_L2_SIZE		0x002cu	/* bytes a cluster */
#define SIDRA_REG_L3_SIZE		0x0030u	/* (64) bytes */
#define SIDRA_REG_NVM_SIZE		0x0038u	/* (64) bytes of the weights directory's memory */
#define SIDRA_REG_UUID			0x0040u	/* 16 bytes */

/* Status. Readable at any time, even if the firmware is dead. */
#define SIDRA_REG_STATUS		0x0100u
#define   SIDRA_STATUS_STAGE_MASK	0x000000ffu	/* enum sidra_boot_stage */
#define   SIDRA_STATUS_READY		(1u << 8)	/* queues may run */
#define   SIDRA_STATUS_FATAL		(1u << 9)	/* only a reset helps */
#define   SIDRA_STATUS_FIRMWARE_ALIVE	(1u << 10)
#define   SIDRA_STATUS_THROTTLED	(1u << 11)
#define   SIDRA_STATUS_STOPPED		(1u << 12)	/* device scope quiesced */
#define SIDRA_REG_BOOT_REASON		0x0104u	/* enum sidra_boot_reason */
#define SIDRA_REG_HEARTBEAT		0x0108u	/* firmware's event-loop counter; 0: no firmware */
#define SIDRA_REG_PANIC			0x010cu	/* firmware panic code; 0 none */
#define SIDRA_REG_GENERATION		0x0110u	/* +1 for each device reset or FLR */
#define SIDRA_REG_SCRATCH		0x0114u	/* reads back what was written, inverted */
/* (64) device clock, ns; reading the low half latches the high one */
#define SIDRA_REG_CLOCK			0x0118u

/**
 * enum sidra_boot_stage - what the management core is doing; the low bits of SIDRA_REG_STATUS
 * @SIDRA_STAGE_RESET: the chip is being reset, or the core has not begun since then
 * @SIDRA_STAGE_ROM: the boot ROM chooses a slot
 * @SIDRA_STAGE_VERIFY: the boot ROM verifies an image
 * @SIDRA_STAGE_CALIBRATE: the firmware tests itself and calibrates the crossbars
 * @SIDRA_STAGE_RECOVERY: no firmware: no slot has a valid image, and the boot block answers
 * @SIDRA_STAGE_RUNTIME: the firmware is running
 * @SIDRA_STAGE_PANIC: the firmware has stopped; SIDRA_REG_PANIC has the code
 */
enum sidra_boot_stage {
	SIDRA_STAGE_RESET	= 0,
	SIDRA_STAGE_ROM		= 1,
	SIDRA_STAGE_VERIFY	= 2,
	SIDRA_STAGE_CALIBRATE	= 3,
	SIDRA_STAGE_RECOVERY	= 0x0f,
	SIDRA_STAGE_RUNTIME	= 0x10,
	SIDRA_STAGE_PANIC	= 0xff
};

/**
 * enum sidra_boot_reason - why the management core started last
 * @SIDRA_BOOT_POWER_ON: power on
 * @SIDRA_BOOT_RESET: a device reset by register, or FLR
 * @SIDRA_BOOT_WATCHDOG: the firmware did not feed its watchdog
 * @SIDRA_BOOT_PANIC: the firmware had panicked
 * @SIDRA_BOOT_UPDATE: the firmware restarted the core to start another image
 */
enum sidra_boot_reason {
	SIDRA_BOOT_POWER_ON	= 0,
	SIDRA_BOOT_RESET	= 1,
	SIDRA_BOOT_WATCHDOG	= 2,
	SIDRA_BOOT_PANIC	= 3,
	SIDRA_BOOT_UPDATE	= 4
};

/* Control. */
#define SIDRA_REG_CONTROL		0x0200u
#define   SIDRA_CONTROL_ENABLE		(1u << 0)	/* queues run; set after CONTEXT_TABLE */
/* write SIDRA_RESET_MAGIC: device reset; cells and NVM survive */
#define SIDRA_REG_RESET			0x0204u
#define   SIDRA_RESET_MAGIC		0x52534554u
#define SIDRA_REG_INT_STATUS		0x0208u	/* write 1 to clear; SIDRA_INT_* */
#define SIDRA_REG_INT_ENABLE		0x020cu	/* which of them raise SIDRA_MSIX_ADMIN */
#define   SIDRA_INT_ADMIN		(1u << 0)	/* admin command done */
#define   SIDRA_INT_FAULT		(1u << 1)	/* a queue faulted; see its state page */
#define   SIDRA_INT_MAILBOX		(1u << 2)	/* reply or event in the mailbox */
#define   SIDRA_INT_FIRMWARE		(1u << 3)	/* panic or watchdog */
#define   SIDRA_INT_THERMAL		(1u << 4)
#define   SIDRA_INT_TEST		(1u << 5)	/* SIDRA_REG_TEST_IRQ with vector 0 */
/* (64) bus address of struct sidra_hw_context[SIDRA_CONTEXTS_MAX], 4 KiB aligned */
#define SIDRA_REG_CONTEXT_TABLE		0x0210u
#define SIDRA_REG_TEST_IRQ		0x0218u	/* write v: raise MSI-X vector v */

/*
 * Admin commands, one at a time. Write the arguments, then ADMIN_CMD; the command is done when
 * ADMIN_STATUS has its tag without BUSY.
 */
#define SIDRA_REG_ADMIN_ARG0		0x0220u	/* (64) */
#define SIDRA_REG_ADMIN_ARG1		0x0228u	/* (64) */
#define SIDRA_REG_ADMIN_ARG2		0x0230u	/* (64) */
#define SIDRA_REG_ADMIN_CMD		0x0240u	/* enum sidra_admin_op | tag << 16 */
#define SIDRA_REG_ADMIN_STATUS		0x0244u	/* enum sidra_admin_result | BUSY | tag << 16 */
#define   SIDRA_ADMIN_BUSY		(1u << 15)
#define   SIDRA_ADMIN_RESULT_MASK	0x000000ffu

/**
 * enum sidra_admin_op - admin commands; arg0 to arg2 are the registers ADMIN_ARG0 to ADMIN_ARG2
 * @SIDRA_ADMIN_NONE: no command
 * @SIDRA_ADMIN_QUIESCE_RANGE: arg0 context; arg1 device address; arg2 bytes
 * @SIDRA_ADMIN_QUIESCE_WEIGHTS: arg0 context; arg1 weights index
 * @SIDRA_ADMIN_QUIESCE_QUEUE: arg0 context; arg1 queue
 * @SIDRA_ADMIN_QUIESCE_CONTEXT: arg0 context
 * @SIDRA_ADMIN_QUIESCE_DEVICE: no arguments
 * @SIDRA_ADMIN_RESUME_QUEUE: arg0 context; arg1 queue
 * @SIDRA_ADMIN_RESUME_CONTEXT: arg0 context
 * @SIDRA_ADMIN_RESUME_DEVICE: no arguments
 * @SIDRA_ADMIN_RESET_QUEUE: arg0 context; arg1 queue; arg2 epoch that ends (0: the loaded one) |
 *                           cause << 32 (0: RESET)
 * @SIDRA_ADMIN_RESET_CONTEXT: arg0 context
 * @SIDRA_ADMIN_TEST_DMA: copies arg2 <= 4096 bytes from bus arg0 to bus arg1
 * @SIDRA_ADMIN_NVM_READ: NVM offset arg0 -> bus arg1, arg2 <= 65536 bytes
 * @SIDRA_ADMIN_NVM_WRITE: NVM offset arg0 <- bus arg1, arg2 <= 65536 bytes
 * @SIDRA_ADMIN_XBAR_READ: struct sidra_hw_xbar[arg2 <= 1024] of crossbars arg0.. -> bus arg1
 * @SIDRA_ADMIN_XBAR_ERASE: crossbars arg0 .. arg0 + arg1 - 1: cells to level 0, owner 0
 * @SIDRA_ADMIN_L3_ZERO: L3 offset arg0, arg1 bytes, both 4 KiB multiples
 * @SIDRA_ADMIN_XBAR_REPORT: struct sidra_hw_xbar_report[arg2 <= 64] of crossbars arg0.. -> bus arg1
 * @SIDRA_ADMIN_OP_COUNT: one more than the last command
 *
 * QUIESCE_* stops and drains a scope, and invalidates its cached entries. When the command is done,
 * nothing of the scope is in flight, no cache holds anything of it, and the chip does not access
 * its memory until it resumes. RANGE and WEIGHTS resume by themselves, with the new tables. QUEUE,
 * CONTEXT and DEVICE stay stopped until RESUME_*: a resumed queue continues with the packet it
 * stopped in; a queue whose entry has become invalid is unloaded.
 *
 * RESET_QUEUE and RESET_CONTEXT are like QUIESCE, and also discard the position of the queues: the
 * chip begins at start_index of the queue entry at the next doorbell after the acknowledgement. To
 * begin elsewhere, issue QUIESCE_QUEUE, store the entry, then issue RESET_QUEUE, which also resumes
 * the queue.
 *
 * RESET_QUEUE ends an epoch of the queue: the entry must have another one before the next doorbell.
 * From then on, waits for the ended epoch succeed for packets that had retired, and fail for
 * others. RESET_CONTEXT discards all epochs of the context's queues.
 */
enum sidra_admin_op {
	SIDRA_ADMIN_NONE		= 0,
	SIDRA_ADMIN_QUIESCE_RANGE	= 1,
	SIDRA_ADMIN_QUIESCE_WEIGHTS	= 2,
	SIDRA_ADMIN_QUIESCE_QUEUE	= 3,
	SIDRA_ADMIN_QUIESCE_CONTEXT	= 4,
	SIDRA_ADMIN_QUIESCE_DEVICE	= 5,
	SIDRA_ADMIN_RESUME_QUEUE	= 6,
	SIDRA_ADMIN_RESUME_CONTEXT	= 7,
	SIDRA_ADMIN_RESUME_DEVICE	= 8,
	SIDRA_ADMIN_RESET_QUEUE		= 9,
	SIDRA_ADMIN_RESET_CONTEXT	= 10,
	SIDRA_ADMIN_TEST_DMA		= 16,
	SIDRA_ADMIN_NVM_READ		= 17,
	SIDRA_ADMIN_NVM_WRITE		= 18,
	SIDRA_ADMIN_XBAR_READ		= 19,
	SIDRA_ADMIN_XBAR_ERASE		= 20,
	SIDRA_ADMIN_L3_ZERO		= 21,
	SIDRA_ADMIN_XBAR_REPORT		= 22,
	SIDRA_ADMIN_OP_COUNT
};

/**
 * enum sidra_admin_result - how an admin command ended
 * @SIDRA_ADMIN_OK: done
 * @SIDRA_ADMIN_BAD_OP: unknown command
 * @SIDRA_ADMIN_BAD_ARG: an argument is out of range
 * @SIDRA_ADMIN_BUS_ERROR: a transfer between the chip and memory, or to its cells, failed
 * @SIDRA_ADMIN_NOT_READY: written during a reset
 * @SIDRA_ADMIN_ABORTED: ended by a reset
 */
enum sidra_admin_result {
	SIDRA_ADMIN_OK			= 0,
	SIDRA_ADMIN_BAD_OP		= 1,
	SIDRA_ADMIN_BAD_ARG		= 2,
	SIDRA_ADMIN_BUS_ERROR		= 3,
	SIDRA_ADMIN_NOT_READY		= 4,
	SIDRA_ADMIN_ABORTED		= 5
};

/*
 * Mailbox to the firmware, which queues do not need. Absent (reads 0, ignores writes) without
 * SIDRA_FEATURE_FIRMWARE. REQUEST and REPLY are bus addresses of struct sidra_mailbox_msg[entries].
 */
#define SIDRA_REG_MAILBOX_REQUEST	0x0300u	/* (64) request ring */
#define SIDRA_REG_MAILBOX_REPLY		0x0308u	/* (64) reply ring */
#define SIDRA_REG_MAILBOX_ENTRIES	0x0310u	/* power of two, 2..256 */
#define SIDRA_REG_MAILBOX_DOORBELL	0x0314u	/* request write index */
#define SIDRA_REG_MAILBOX_REPLY_INDEX	0x0318u	/* reply write index, published by the firmware */
#define SIDRA_REG_MAILBOX_REPLY_READ	0x031cu	/* reply read index, written by the driver */

/* Windows in BAR0. TELEMETRY has 4 KiB, and is read-only. */
#define SIDRA_BAR_TELEMETRY		0x010000u	/* struct sidra_telemetry */
#define SIDRA_BAR_ARM			0x200000u	/* kernel only: 64-bit write; see below */
#define SIDRA_BAR_ARM_STRIDE		0x000800u	/* per context; 8 bytes per queue */
#define SIDRA_BAR_DOORBELL		0x400000u	/* for user space: 64 KiB per context */
#define SIDRA_BAR_MSIX_TABLE		0xe00000u
#define SIDRA_BAR_MSIX_PBA		0xe80000u

/* Doorbell of a queue: 32-bit write of any value. The chip then reads the write index in memory. */
#define SIDRA_DOORBELL(context, queue) \
	(SIDRA_BAR_DOORBELL + (context) * SIDRA_DOORBELL_PAGE_SIZE + (queue) * 8u)
/*
 * ARM of a queue: 64-bit write of a timeline value; 0 disarms. The chip raises the queue's vector
 * once when the queue's timeline is >= the value (immediately if it already is), after the timeline
 * is visible in the state page. A queue that has not started yet is compared when it starts. A
 * queue is armed for one value, that of the last write.
 */
#define SIDRA_ARM(context, queue) \
	(SIDRA_BAR_ARM + (context) * SIDRA_BAR_ARM_STRIDE + (queue) * 8u)

/* ---- Tables in memory (written by the driver, read by the chip) ------------------------------ */

#define SIDRA_HW_CONTEXT_VALID		(1u << 0)

/**
 * struct sidra_hw_context - entry of the context table
 * @page_table: bus address of the root page table, 4 KiB aligned
 * @weights_table: bus address of struct sidra_hw_weights[@weights_count]; 0 if @weights_count is 0
 * @queue_table: bus address of struct sidra_hw_queue[@queue_count]
 * @weights_count: <= SIDRA_WEIGHTS_MAX
 * @queue_count: <= SIDRA_QUEUES_PER_CONTEXT_MAX
 * @generation: generation of the context, which the driver also stores in the entries of its queues
 * @flags: SIDRA_HW_CONTEXT_VALID
 * @reserved: zero
 */
struct sidra_hw_context {
	sidra_le64 page_table;
	sidra_le64 weights_table;
	sidra_le64 queue_table;
	sidra_le32 weights_count;
	sidra_le32 queue_count;
	sidra_le32 generation;
	sidra_le32 flags;
	sidra_le64 reserved[3];
};

#define SIDRA_HW_QUEUE_VALID		(1u << 0)
/* ring, write index are bus addresses; SEM_* not allowed */
#define SIDRA_HW_QUEUE_KERNEL		(1u << 1)

/**
 * struct sidra_hw_queue - entry of a context's queue table
 * @ring: packets, 2^@ring_log2 of them, 4 KiB aligned; device address (user) or bus address (kernel
 *        queue)
 * @write_index: 64-bit word, 8-byte aligned: ring index of the next packet that software will
 *               write; same kind of address
 * @state: bus address of struct sidra_queue_state, 4 KiB aligned (its own page)
 * @report: device address (bus address for a kernel queue) of struct sidra_report[2^@ring_log2],
 *          32-byte aligned; 0: none
 * @start_index: first ring index after the queue is loaded or reset
 * @generation: copied to the state page
 * @flags: SIDRA_HW_QUEUE_*
 * @ring_log2: SIDRA_QUEUE_LOG2_MIN..MAX
 * @priority: 0..SIDRA_PRIORITIES - 1
 * @vector: MSI-X vector, 1..SIDRA_MSIX_VECTORS - 1
 * @epoch: epoch of the queue's packets from @start_index on; not 0. The driver assigns a new one,
 *         unique among all queues of the context, when it creates or resets the queue. In an entry
 *         that is not valid: the epoch that the driver is about to begin, or to end with
 *         RESET_QUEUE; otherwise 0
 * @reserved: zero
 */
struct sidra_hw_queue {
	sidra_le64 ring;
	sidra_le64 write_index;
	sidra_le64 state;
	sidra_le64 report;
	sidra_le64 start_index;
	sidra_le32 generation;
	sidra_le32 flags;
	uint8_t    ring_log2;
	uint8_t    priority;
	sidra_le16 vector;
	sidra_le32 epoch;
	sidra_le64 reserved;
};

#define SIDRA_HW_WEIGHTS_VALID		(1u << 0)
#define SIDRA_HW_WEIGHTS_COMPUTE	(1u << 1)	/* MVM */
#define SIDRA_HW_WEIGHTS_PROGRAM	(1u << 2)
#define SIDRA_HW_WEIGHTS_READBACK	(1u << 3)

/**
 * struct sidra_hw_weights - entry of a context's weights table: the capability to use a set of
 * crossbars
 * @uid: identity of the object, never 0, never reused on this array; the chip stores it in the
 *       header of each crossbar it programs
 * @tiles: bus address of sidra_le32 crossbar[@tile_count], 4-byte aligned: tile (i, j) of the grid
 *         at i * columns_of_tiles + j, i over inputs (256 each), j over outputs (128 or 256 each).
 *         No crossbar may occur twice
 * @rows: K, inputs, >= 1
 * @cols: N, outputs, >= 1
 * @tile_count: ceil(K / 256) * ceil(N / 128 or 256)
 * @flags: SIDRA_HW_WEIGHTS_*
 * @encoding: enum sidra_encoding
 * @reserved0: zero
 * @reserved1: zero
 *
 * crossbar = ((cluster * CUs_per_cluster) + CU) * crossbars_per_CU + crossbar_in_CU.
 */
struct sidra_hw_weights {
	sidra_le64 uid;
	sidra_le64 tiles;
	sidra_le32 rows;
	sidra_le32 cols;
	sidra_le32 tile_count;
	sidra_le32 flags;
	sidra_le32 encoding;
	sidra_le32 reserved0;
	sidra_le64 reserved1[3];
};

/**
 * enum sidra_xbar_level - how cells of a crossbar are programmed
 * @SIDRA_XBAR_EXACT: exactly, without pulses or reads; the counters of these are zero
 * @SIDRA_XBAR_PULSED: by pulses, with a read after each
 */
enum sidra_xbar_level {
	SIDRA_XBAR_EXACT	= 0,
	SIDRA_XBAR_PULSED	= 1
};

#define SIDRA_XBAR_TRIES_MAX	64u	/* maximum number of pulses for a cell in one programming */

/**
 * struct sidra_hw_xbar_report - programming effort and errors of a crossbar since it was erased, as
 * XBAR_REPORT returns them
 * @uid: as in struct sidra_hw_xbar
 * @tile: as in struct sidra_hw_xbar
 * @programs: as in struct sidra_hw_xbar
 * @programmed_rows: as in struct sidra_hw_xbar
 * @level: enum sidra_xbar_level
 * @stuck_cells: as in struct sidra_hw_xbar
 * @spare_columns: number of columns that were replaced by spare columns
 * @error_ppm: root mean square deviation of converged cells from their target after the last pulse,
 *             in millionths of G_max
 * @drift_ppm: loss of conductance since the last programming, in millionths of the conductance then
 * @bad_cells: cells in use that did not converge when they were pulsed last
 * @age_s: seconds since the last programming, with an error of half a day; counted faster at high
 *         temperature, like drift
 * @failed: cells that did not converge within SIDRA_XBAR_TRIES_MAX pulses, nor in a second attempt;
 *          includes stuck cells
 * @set_pulses: pulses that raised a conductance, of all cells
 * @reset_pulses: pulses that lowered one, of all cells
 * @reads: reads, of all cells
 * @device_ps: device time of programming (cost model), in picoseconds
 * @energy_pj: energy of programming (cost model), in picojoules
 * @clipped: number of sums of products that were clipped, because they exceeded the range of the
 *           ADCs
 * @recovered: cells that converged in a second attempt
 * @adc_range: half of the range of the ADCs that SIDRA_CMD_MVM_CALIBRATE has set, in products of
 *             input and weight; 0: the range follows each product
 * @reserved0: zero
 * @arrived: number of cells that converged, by number of pulses; cells that are programmed again
 *           count again
 * @reserved1: zero
 */
struct sidra_hw_xbar_report {
	sidra_le64 uid;
	sidra_le32 tile;
	sidra_le32 programs;
	sidra_le16 programmed_rows;
	sidra_le16 level;
	sidra_le32 stuck_cells;
	sidra_le32 spare_columns;
	sidra_le32 error_ppm;
	sidra_le32 drift_ppm;
	sidra_le32 bad_cells;
	sidra_le64 age_s;
	sidra_le64 failed;
	sidra_le64 set_pulses;
	sidra_le64 reset_pulses;
	sidra_le64 reads;
	sidra_le64 device_ps;
	sidra_le64 energy_pj;
	sidra_le64 clipped;
	sidra_le64 recovered;
	sidra_le64 adc_range;
	sidra_le64 reserved0[1];
	sidra_le64 arrived[SIDRA_XBAR_TRIES_MAX + 1];
	sidra_le64 reserved1[7];
};

/* ---- Page tables ----------------------------------------------------------------------------- */

/*
 * Three levels of 512 entries; device address bits 38:30, 29:21, 20:12, offset 11:0. An entry is 64
 * bits. A table entry has VALID only (and the address); a leaf has VALID, LEAF and rights. LEAF at
 * level 1 (middle) is a 2 MiB page, at level 0 a 4 KiB page; at the root it is malformed, as is any
 * reserved bit. LOCAL: the address is an offset in L3, not a bus address.
 */

/* Bus addresses end below 2^52: the chip refuses tables and buffers that reach beyond. */
#define SIDRA_BUS_BITS		52u
#define SIDRA_HUGE_SHIFT	21u
#define SIDRA_HUGE_SIZE		(1u << SIDRA_HUGE_SHIFT)
#define SIDRA_PT_LEVELS		3u
#define SIDRA_PT_ENTRIES	512u
#define SIDRA_PTE_VALID		(1ull << 0)
#define SIDRA_PTE_LEAF		(1ull << 1)
#define SIDRA_PTE_READ		(1ull << 2)
#define SIDRA_PTE_WRITE		(1ull << 3)
#define SIDRA_PTE_LOCAL		(1ull << 4)
#define SIDRA_PTE_ADDR		0x000ffffffffff000ull
#define SIDRA_PTE_RESERVED	(~(SIDRA_PTE_ADDR | 0x1full))

/* ---- Mailbox --------------------------------------------------------------------------------- */

/**
 * enum sidra_mailbox_op - requests, replies and events in the mailbox
 * @SIDRA_MAILBOX_HELLO: exchange interface versions; version and slot of the running image
 * @SIDRA_MAILBOX_STATUS: boot stage, heartbeat, device clock, boot reason
 * @SIDRA_MAILBOX_CALIBRATE: calibrate the ADCs of some crossbars, in the background
 * @SIDRA_MAILBOX_ISPP_CAMPAIGN: get or set the policy of programming, or check crossbars in the
 *                               background
 * @SIDRA_MAILBOX_ISPP_REFRESH: pulse cells that left their levels again, in the background
 * @SIDRA_MAILBOX_OP_QUERY: percent and state of a background operation
 * @SIDRA_MAILBOX_OP_ABORT: end a background operation
 * @SIDRA_MAILBOX_POWER_LIMIT: get or set the power limit
 * @SIDRA_MAILBOX_DVFS: get or set the highest clock level
 * @SIDRA_MAILBOX_LOG_RING: read the log
 * @SIDRA_MAILBOX_FW_BEGIN: begin an update of the firmware
 * @SIDRA_MAILBOX_FW_DATA: send a piece of the image
 * @SIDRA_MAILBOX_FW_COMMIT: end the update: verify the image, and select it for a trial if so
 *                           requested
 * @SIDRA_MAILBOX_FW_CONFIRM: confirm the running image
 * @SIDRA_MAILBOX_FW_INFO: slots and versions
 * @SIDRA_MAILBOX_FW_ACTIVATE: selects the image of the slot that does not run for a trial at the
 *                             next start
 * @SIDRA_MAILBOX_FW_BUILD: build id of the running image
 * @SIDRA_MAILBOX_CRASH_DUMP: read the dump of the last panic
 * @SIDRA_MAILBOX_LOOPBACK: return the payload
 * @SIDRA_MAILBOX_REPLY: reply = request | REPLY
 * @SIDRA_MAILBOX_EVENT: unsolicited event of the firmware
 *
 * docs/firmware.md describes the contents of requests and replies.
 */
enum sidra_mailbox_op {
	SIDRA_MAILBOX_HELLO		= 0x0001,
	SIDRA_MAILBOX_STATUS		= 0x0002,
	SIDRA_MAILBOX_CALIBRATE		= 0x0010,
	SIDRA_MAILBOX_ISPP_CAMPAIGN	= 0x0011,
	SIDRA_MAILBOX_ISPP_REFRESH	= 0x0012,
	SIDRA_MAILBOX_OP_QUERY		= 0x0013,
	SIDRA_MAILBOX_OP_ABORT		= 0x0014,
	SIDRA_MAILBOX_POWER_LIMIT	= 0x0020,
	SIDRA_MAILBOX_DVFS		= 0x0021,
	SIDRA_MAILBOX_LOG_RING		= 0x0030,
	SIDRA_MAILBOX_FW_BEGIN		= 0x0040,
	SIDRA_MAILBOX_FW_DATA		= 0x0041,
	SIDRA_MAILBOX_FW_COMMIT		= 0x0042,
	SIDRA_MAILBOX_FW_CONFIRM	= 0x0043,
	SIDRA_MAILBOX_FW_INFO		= 0x0044,
	SIDRA_MAILBOX_FW_ACTIVATE	= 0x0045,
	SIDRA_MAILBOX_FW_BUILD		= 0x0046,
	SIDRA_MAILBOX_CRASH_DUMP	= 0x0050,
	SIDRA_MAILBOX_LOOPBACK		= 0x0060,
	SIDRA_MAILBOX_REPLY		= 0x8000,
	SIDRA_MAILBOX_EVENT		= 0x4000
};

/**
 * enum sidra_mailbox_status - result of a request
 * @SIDRA_MAILBOX_OK: done
 * @SIDRA_MAILBOX_ACCEPTED: continues in the background; inline_data[0] is the number of the
 *                          operation
 * @SIDRA_MAILBOX_UNSUPPORTED: unknown request, or HELLO with another major version
 * @SIDRA_MAILBOX_BAD_LENGTH: the request has another length
 * @SIDRA_MAILBOX_BAD_ARGUMENT: an argument is not allowed, or the image does not verify
 * @SIDRA_MAILBOX_BUSY: another background operation, an update or a trial is in progress
 * @SIDRA_MAILBOX_DEADLINE: the request came after its deadline
 * @SIDRA_MAILBOX_ABORTED: aborted; the runtime does not return it
 * @SIDRA_MAILBOX_INTERNAL: a block of the chip failed, such as the flash
 */
enum sidra_mailbox_status {
	SIDRA_MAILBOX_OK		= 0,
	SIDRA_MAILBOX_ACCEPTED		= 1,
	SIDRA_MAILBOX_UNSUPPORTED	= 2,
	SIDRA_MAILBOX_BAD_LENGTH	= 3,
	SIDRA_MAILBOX_BAD_ARGUMENT	= 4,
	SIDRA_MAILBOX_BUSY		= 5,
	SIDRA_MAILBOX_DEADLINE		= 6,
	SIDRA_MAILBOX_ABORTED		= 7,
	SIDRA_MAILBOX_INTERNAL		= 8
};

/**
 * struct sidra_mailbox_msg - one entry of either ring
 * @opcode: enum sidra_mailbox_op
 * @flags: zero
 * @length: payload bytes: <= 24 inline, else at @payload
 * @sequence: number of the message, counted by the sender
 * @status: enum sidra_mailbox_status (replies)
 * @cookie: returned in the reply
 * @deadline: device clock, ns; 0: none
 * @payload: bus address, or 0 for inline
 * @inline_data: up to 24 bytes of payload
 */
struct sidra_mailbox_msg {
	sidra_le16 opcode;
	sidra_le16 flags;
	sidra_le32 length;
	sidra_le32 sequence;
	sidra_le32 status;
	sidra_le64 cookie;
	sidra_le64 deadline;
	sidra_le64 payload;
	sidra_le64 inline_data[3];
};

/* ---- Firmware image -------------------------------------------------------------------------- */

#define SIDRA_FW_MAGIC		0x57464453u	/* "SDFW" */
#define SIDRA_FW_HEADER_SIZE	256u
#define SIDRA_FW_API_COUNT	8u

/**
 * enum sidra_fw_type - the slots that an image is for
 * @SIDRA_FW_RUNTIME: slots A and B, which updates write
 * @SIDRA_FW_RECOVERY: the recovery slot
 */
enum sidra_fw_type {
	SIDRA_FW_RUNTIME	= 1,
	SIDRA_FW_RECOVERY	= 2
};

/**
 * enum sidra_fw_api - interfaces of a firmware image: index in its version table
 * @SIDRA_FW_API_BOOT: with the boot ROM
 * @SIDRA_FW_API_MAILBOX: requests of the host in the mailbox
 * @SIDRA_FW_API_TELEMETRY: telemetry page
 * @SIDRA_FW_API_LOG: log
 * @SIDRA_FW_API_DUMP: crash dump
 */
enum sidra_fw_api {
	SIDRA_FW_API_BOOT	= 0,
	SIDRA_FW_API_MAILBOX	= 1,
	SIDRA_FW_API_TELEMETRY	= 2,
	SIDRA_FW_API_LOG	= 3,
	SIDRA_FW_API_DUMP	= 4
};

/**
 * struct sidra_fw_header - first 256 bytes of a firmware image; payload and TLVs follow
 * @magic: SIDRA_FW_MAGIC
 * @header_version: 1
 * @header_size: SIDRA_FW_HEADER_SIZE
 * @type: enum sidra_fw_type
 * @flags: bit 0 debug build; others are zero
 * @chip_id: SIDRA_PCI_DEVICE_ID
 * @stepping_mask: steppings of the chip that it may run on; bit n: stepping n
 * @load_address: address of the payload in the management core's memory, a multiple of 8
 * @entry: address of the first instruction, inside the payload, a multiple of 4
 * @image_size: bytes of payload, > 0, a multiple of 8
 * @ram_size: bytes of RAM needed from @load_address on, including bss; a multiple of 8
 * @stack_size: bytes of stack needed above that, a multiple of 16; 0: the program has its own
 * @version: major << 24 | minor << 16 | patch
 * @security_version: security version, which releases only raise; the chip refuses images below its
 *                    lowest one (anti-rollback)
 * @min_driver: lowest driver version, as @version; 0: any
 * @build_id: git hash of the sources; zero if unknown
 * @tlv_size: bytes of TLVs after the payload, each struct sidra_fw_tlv padded to 8
 * @build_time: SOURCE_DATE_EPOCH, seconds since 1970; 0 if unknown
 * @api: interface versions, by enum sidra_fw_api: major << 16 | minor; 0: not provided
 * @reserved: zero
 * @reserved1: zero
 * @crc32: CRC-32 of the header with this field zero; detects transfer errors
 *
 * This struct and the next one are no view of an image, and so they have the types of C:
 * firmware/image takes an image apart byte by byte, at any alignment, and its callers get these
 * structs in the byte order of the machine.
 */
struct sidra_fw_header {
	uint32_t magic;
	uint16_t header_version;
	uint16_t header_size;
	uint32_t type;
	uint32_t flags;
	uint32_t chip_id;
	uint32_t stepping_mask;
	uint32_t load_address;
	uint32_t entry;
	uint32_t image_size;
	uint32_t ram_size;
	uint32_t stack_size;
	uint32_t version;
	uint32_t security_version;
	uint32_t min_driver;
	uint8_t  build_id[20];
	uint32_t tlv_size;
	uint64_t build_time;
	uint32_t api[SIDRA_FW_API_COUNT];
	uint8_t  reserved[128];
	uint32_t reserved1;
	uint32_t crc32;
};

/**
 * enum sidra_fw_tlv_type - what a struct sidra_fw_tlv contains
 * @SIDRA_FW_TLV_SHA256: SHA-256 of header and payload; detects corruption
 * @SIDRA_FW_TLV_KEY_HASH: SHA-256 of the public key
 * @SIDRA_FW_TLV_ED25519: signature of the SHA-256; proves authenticity
 * @SIDRA_FW_TLV_LOG_STRINGS: texts of the firmware's log, for people
 */
enum sidra_fw_tlv_type {
	SIDRA_FW_TLV_SHA256	= 1,
	SIDRA_FW_TLV_KEY_HASH	= 2,
	SIDRA_FW_TLV_ED25519	= 3,
	SIDRA_FW_TLV_LOG_STRINGS = 4
};

/**
 * struct sidra_fw_tlv - head of a TLV of a firmware image
 * @type: enum sidra_fw_tlv_type
 * @flags: zero
 * @length: bytes of the value that follows; zeros up to a multiple of 8 follow the value
 */
struct sidra_fw_tlv {
	uint16_t type;
	uint16_t flags;
	uint32_t length;
};

/* ---- Weights directory (contents of NVM) ----------------------------------------------------- */

/*
 * NVM holds one struct sidra_nvm_super at offset 0, then SIDRA_NVM_ENTRIES entries, then extents of
 * data such as scales. The driver defines this format; the chip only stores bytes. The driver finds
 * the tiles of an entry by scanning crossbar headers for its uid.
 */
#define SIDRA_NVM_MAGIC		0x56444453u	/* "SDDV" */
#define SIDRA_NVM_VERSION	1u
#define SIDRA_NVM_ENTRIES	1023u
#define SIDRA_NVM_NAME_MAX	63u

/**
 * struct sidra_nvm_super - first 256 bytes of NVM
 * @magic: SIDRA_NVM_MAGIC
 * @version: SIDRA_NVM_VERSION
 * @next_uid: this uid and all above it were never assigned on this array
 * @reserved: zero
 */
struct sidra_nvm_super {
	sidra_le32 magic;
	sidra_le32 version;
	sidra_le64 next_uid;
	sidra_le64 reserved[30];
};

/**
 * struct sidra_nvm_entry - a named weights object
 * @uid: identity of the object on this array; 0: free entry
 * @uuid: identity for users
 * @hash: content hash of the creator's choice, in the size of a SHA-256; zero if unknown
 * @owner: user id of the creator
 * @mode: permission bits like those of a file (r: compute, w: program and read back)
 * @rows: K, inputs, as in struct sidra_hw_weights
 * @cols: N, outputs, as in struct sidra_hw_weights
 * @encoding: enum sidra_encoding
 * @tile_count: number of tiles, as in struct sidra_hw_weights
 * @data_offset: offset in NVM of the data kept with the object, such as per-column scales
 * @data_size: bytes of that data; 0: none
 * @created_s: when the name was given, in seconds since 1970
 * @reserved: zero
 * @name: NUL-terminated
 */
struct sidra_nvm_entry {
	sidra_le64 uid;
	uint8_t    uuid[16];
	uint8_t    hash[32];
	sidra_le32 owner;
	sidra_le32 mode;
	sidra_le32 rows;
	sidra_le32 cols;
	sidra_le32 encoding;
	sidra_le32 tile_count;
	sidra_le64 data_offset;
	sidra_le64 data_size;
	sidra_le64 created_s;
	uint8_t    reserved[88];
	char       name[64];
};

/* ---- The contract, asserted ------------------------------------------------------------------ */

SIDRA_ASSERT_SIZE(struct sidra_hw_context, 64);
SIDRA_ASSERT_AT(struct sidra_hw_context, weights_count, 24);
SIDRA_ASSERT_AT(struct sidra_hw_context, flags, 36);
SIDRA_ASSERT_SIZE(struct sidra_hw_queue, 64);
SIDRA_ASSERT_AT(struct sidra_hw_queue, start_index, 32);
SIDRA_ASSERT_AT(struct sidra_hw_queue, flags, 44);
SIDRA_ASSERT_AT(struct sidra_hw_queue, vector, 50);
SIDRA_ASSERT_AT(struct sidra_hw_queue, epoch, 52);
SIDRA_ASSERT_SIZE(struct sidra_hw_weights, 64);
SIDRA_ASSERT_AT(struct sidra_hw_weights, rows, 16);
SIDRA_ASSERT_AT(struct sidra_hw_weights, encoding, 32);
SIDRA_ASSERT_SIZE(struct sidra_hw_xbar_report, 704);
SIDRA_ASSERT_AT(struct sidra_hw_xbar_report, age_s, 40);
SIDRA_ASSERT_AT(struct sidra_hw_xbar_report, arrived, 128);
SIDRA_ASSERT_SIZE(struct sidra_mailbox_msg, 64);
SIDRA_ASSERT_AT(struct sidra_mailbox_msg, cookie, 16);
SIDRA_ASSERT_AT(struct sidra_mailbox_msg, inline_data, 40);
SIDRA_ASSERT_SIZE(struct sidra_fw_header, SIDRA_FW_HEADER_SIZE);
SIDRA_ASSERT_AT(struct sidra_fw_header, build_id, 56);
SIDRA_ASSERT_AT(struct sidra_fw_header, build_time, 80);
SIDRA_ASSERT_AT(struct sidra_fw_header, crc32, 252);
SIDRA_ASSERT_SIZE(struct sidra_fw_tlv, 8);
SIDRA_ASSERT_SIZE(struct sidra_nvm_super, 256);
SIDRA_ASSERT_SIZE(struct sidra_nvm_entry, 256);
SIDRA_ASSERT_AT(struct sidra_nvm_entry, data_offset, 80);
SIDRA_ASSERT_AT(struct sidra_nvm_entry, name, 192);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_HW_H */
