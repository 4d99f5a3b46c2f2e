/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What a program sees of the chip besides packets (sidra_cmd.h): the memory of its queues, their
 * state pages and faults, and properties of weights. Everything is little-endian.
 *
 * Changelog of the hardware contract (sidra_cmd.h, sidra_vector.h, sidra_state.h, sidra_monitor.h,
 * sidra_publish.h, sidra_hw.h)
 * 1.0  first version
 * 1.1  admin command XBAR_REPORT; SIDRA_CMD_PROGRAM_REFRESH
 * 1.2  telemetry page of 512 bytes, whose first word takes a snapshot; engine_ns in state pages;
 *      mailbox FW_ACTIVATE, FW_BUILD, CALIBRATE; SIDRA_CMD_MVM_CALIBRATE, adc_range;
 *      sidra_publish.h: before
 * 1.3  LABEL, VECTOR, more element types; fault causes PRODUCER and PROGRAM; epochs
 * 1.4  MATMUL, LAYER
 * 2.0  POOL, SORT; VEC is gone
 * 2.1  what programs see is in sidra_state.h and sidra_monitor.h, with some names changed
 *      (docs/uapi.md); the chip is the same
 */
#ifndef SIDRA_STATE_H
#define SIDRA_STATE_H

#include "sidra_cmd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The chip -------------------------------------------------------------------------------- */

/*
 * Version of the hardware contract: sidra_cmd.h, sidra_vector.h, sidra_hw.h, sidra_monitor.h, and
 * this header.
 */
#define SIDRA_HW_VERSION_MAJOR	2u
#define SIDRA_HW_VERSION_MINOR	1u
#define SIDRA_HW_VERSION	((SIDRA_HW_VERSION_MAJOR << 16) | SIDRA_HW_VERSION_MINOR)

/* The management core runs firmware; clear: boot block only. */
#define SIDRA_FEATURE_FIRMWARE		(1ull << 0)
/* Cells and NVM survive power-off. */
#define SIDRA_FEATURE_STATE_FILE	(1ull << 1)
/* The chip writes a trace, which shows the texts of LABEL packets. */
#define SIDRA_FEATURE_TRACE		(1ull << 2)

#define SIDRA_VA_BITS			39u	/* width of a device address */
#define SIDRA_PAGE_SHIFT		12u
#define SIDRA_PAGE_SIZE			(1u << SIDRA_PAGE_SHIFT)
#define SIDRA_XBAR_ROWS			256u
#define SIDRA_XBAR_COLS			256u

/**
 * enum sidra_encoding - how the cells of a crossbar hold weights
 * @SIDRA_ENCODING_DIFFERENTIAL: w = (level[2n] - level[2n+1]) / 2, -127..127; 128 outputs a
 *                               crossbar
 * @SIDRA_ENCODING_OFFSET: w = level[n] - 128, -128..127; 256 outputs a crossbar
 */
enum sidra_encoding {
	SIDRA_ENCODING_DIFFERENTIAL	= 0,
	SIDRA_ENCODING_OFFSET		= 1
};

/* ---- Queues ---------------------------------------------------------------------------------- */

#define SIDRA_QUEUE_LOG2_MIN		6u	/* 64 packets: one page */
#define SIDRA_QUEUE_LOG2_MAX		16u
#define SIDRA_PRIORITIES		3u	/* 0 low, 1 normal, 2 high; shares 1 : 4 : 16 */
#define SIDRA_QUEUE_START_MAX		(1ull << 62)	/* greatest ring index of a first packet */
#define SIDRA_DOORBELL_PAGE_SIZE	0x010000u	/* of a context; 8 bytes for each queue */

/* Number of former epochs that the chip remembers for each queue number. */
#define SIDRA_QUEUE_EPOCHS_KEPT		64u

/**
 * enum sidra_queue_run_state - what a queue does
 * @SIDRA_QUEUE_IDLE: never loaded by the chip
 * @SIDRA_QUEUE_RUNNING: loaded; its packets execute, or it waits for packets
 * @SIDRA_QUEUE_STOPPED: quiesced
 * @SIDRA_QUEUE_FAULTED: see the fault record; needs a queue reset
 * @SIDRA_QUEUE_LOST: context or device was reset or removed; written by the driver
 */
enum sidra_queue_run_state {
	SIDRA_QUEUE_IDLE	= 0,
	SIDRA_QUEUE_RUNNING	= 1,
	SIDRA_QUEUE_STOPPED	= 2,
	SIDRA_QUEUE_FAULTED	= 3,
	SIDRA_QUEUE_LOST	= 4,
};

/**
 * struct sidra_fault - why a queue stopped
 * @clock_ns: device clock when it happened, in nanoseconds; 0: the driver wrote the record, and
 *            could not read the clock
 * @sequence: ring index of the packet
 * @address: device address for address faults, otherwise the offending value or 0
 * @context: number of the context on the chip
 * @queue: number of the queue in the context
 * @cookie: the packet's cookie
 * @call_index: index of the packet in the CALL, otherwise 0
 * @cause: enum sidra_fault_cause; 0: no fault
 * @opcode: opcode of the packet (of the one inside the CALL, if any)
 * @in_call: 1 if the packet is inside a CALL, otherwise 0
 * @root_queue: with the cause PRODUCER, number of the queue of the same context where the failure
 *              began; otherwise 0
 * @root_sequence: with the cause PRODUCER, ring index of the packet where the failure began;
 *                 otherwise 0
 * @root_epoch: with the cause PRODUCER, epoch of that queue in which the failure began; otherwise 0
 * @root_cause: with the cause PRODUCER, enum sidra_fault_cause of the failure that was first;
 *              otherwise 0
 * @reserved: zero
 *
 * If the failure began at a queue that was reset or destroyed, @root_sequence is the first packet
 * that had not retired, and @root_cause is RESET.
 *
 * CONTEXT_QUERY and QUEUE_QUERY (sidra_accel.h) return it as it is: little-endian.
 */
struct sidra_fault {
	sidra_le64 clock_ns;
	sidra_le64 sequence;
	sidra_le64 address;
	sidra_le32 context;
	sidra_le32 queue;
	sidra_le32 cookie;
	sidra_le32 call_index;
	sidra_le16 cause;
	uint8_t    opcode;
	uint8_t    in_call;
	sidra_le32 root_queue;
	sidra_le64 root_sequence;
	sidra_le32 root_epoch;
	sidra_le16 root_cause;
	sidra_le16 reserved;
};

/**
 * enum sidra_hw_engine - engines of a chip, by the packets that they execute
 * @SIDRA_HW_ENGINE_MVM: MVM and LAYER
 * @SIDRA_HW_ENGINE_VEC: VECTOR, MATMUL, POOL and SORT
 * @SIDRA_HW_ENGINE_COPY: COPY, FILL and similar packets
 * @SIDRA_HW_ENGINE_PROGRAM: PROGRAM and READBACK
 * @SIDRA_HW_ENGINE_COUNT: number of engines
 */
enum sidra_hw_engine {
	SIDRA_HW_ENGINE_MVM	= 0,
	SIDRA_HW_ENGINE_VEC	= 1,
	SIDRA_HW_ENGINE_COPY	= 2,
	SIDRA_HW_ENGINE_PROGRAM	= 3,
	SIDRA_HW_ENGINE_COUNT
};

/* Engines whose times have a place in this layout; stays when there are more engines. */
#define SIDRA_ENGINE_TIMES	4u

/**
 * struct sidra_queue_state - state page of a queue; the chip writes it, the owner maps it read-only
 * @timeline: ring index of the next packet to retire; stored with release semantics
 * @progress: changes whenever packets retire or work is done inside a packet; for watchdogs
 * @device_ps: accumulated device time (cost model), in picoseconds
 * @energy_pj: accumulated energy (cost model), in picojoules
 * @engine_ns: wall time in which packets of the queue were executed, in nanoseconds, by enum
 *             sidra_hw_engine
 * @run_state: enum sidra_queue_run_state; whoever polls @timeline must check it, too
 * @generation: generation of the queue entry
 * @parked: 1 while the queue waits in a SEM_WAIT, or for readouts of its weights, otherwise 0
 * @epoch: epoch of the queue entry: a point of the timeline is {@epoch, value}
 * @reserved: zero
 * @fault: valid and complete once @run_state is SIDRA_QUEUE_FAULTED
 *
 * The chip writes @timeline ... @engine_ns together, @timeline last.
 */
struct sidra_queue_state {
	sidra_le64 timeline;
	sidra_le64 progress;
	sidra_le64 device_ps;
	sidra_le64 energy_pj;
	sidra_le64 engine_ns[SIDRA_ENGINE_TIMES];
	sidra_le32 run_state;
	sidra_le32 generation;
	sidra_le32 parked;
	sidra_le32 epoch;
	sidra_le64 reserved[6];
	struct sidra_fault fault;
};

/* ---- The contract, asserted ------------------------------------------------------------------ */

SIDRA_ASSERT_SIZE(struct sidra_fault, 64);
SIDRA_ASSERT_AT(struct sidra_fault, context, 24);
SIDRA_ASSERT_AT(struct sidra_fault, cause, 40);
SIDRA_ASSERT_AT(struct sidra_fault, root_sequence, 48);
SIDRA_ASSERT_SIZE(struct sidra_queue_state, 192);
SIDRA_ASSERT_AT(struct sidra_queue_state, engine_ns, 32);
SIDRA_ASSERT_AT(struct sidra_queue_state, run_state, 64);
SIDRA_ASSERT_AT(struct sidra_queue_state, epoch, 76);
SIDRA_ASSERT_AT(struct sidra_queue_state, fault, 128);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_STATE_H */
