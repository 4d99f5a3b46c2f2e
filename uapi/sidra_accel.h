/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * ioctl contract of /dev/sidraN. The embedded transport of libsidra implements the same calls in process.
 *
 * Rules, enforced by the driver
 * - Fixed-width fields, 8-byte aligned structs without holes; no unions; at most 128 bytes.
 * - The driver reads fields marked "in", and writes fields marked "out" (zero on failure where nothing else is said); "inout" is both.
 *   Pads, reserved fields and unknown flags must be zero; otherwise calls fail with -EINVAL.
 * - docs/uapi.md has the rules for changes, and what to do about each error. An addition raises the minor version, with a line in the
 *   changelog below.
 * - Arrays whose elements may grow are passed as pointer, count and stride. A stride smaller than the known struct is -EINVAL; bytes beyond
 *   it must be zero. Elements of arrays without a stride never grow: packets, syncobj points of SUBMIT, numbers.
 * - Handles are valid for the open file that created them; a handle of another file is -ENOENT. 0 is never a valid handle.
 * - -EMFILE: all contexts, or all queues of a context or of the device, are in use. No call returns -EAGAIN, because libdrm would repeat it.
 * - The deadline of WAIT is in absolute CLOCK_MONOTONIC nanoseconds; 0 polls, SIDRA_DEADLINE_NEVER waits for ever. A wait that reaches its
 *   deadline fails with -ETIMEDOUT; one that fails with -EINTR may be repeated unchanged. The deadline of SUBMIT limits a job, not a call: it
 *   is a duration.
 * - After a device reset, calls with older contexts fail with -ESTALE until SIDRA_IOCTL_CONTEXT_RECOVER; after removal all calls fail with
 *   -ENODEV.
 *
 * Changelog
 * 1.0  first version
 * 1.1  WEIGHTS_REPORT
 * 1.2  epochs: other structs for SUBMIT, QUEUE_RESET, QUEUE_QUERY, ARM and the items of WAIT; WAIT_VALUE takes an epoch
 * 1.3  WEIGHTS_CREATE takes the crossbars that the caller wants
 *
 * Changelog of the hardware contract (sidra_hw.h, sidra_cmd.h, sidra_publish.h)
 * 1.0  first version
 * 1.1  admin command XBAR_REPORT; SIDRA_CMD_PROGRAM_REFRESH
 * 1.2  telemetry page of 512 bytes, whose first word takes a snapshot; engine_ns in state pages; mailbox FW_ACTIVATE, FW_BUILD, CALIBRATE;
 *      SIDRA_CMD_MVM_CALIBRATE, adc_range; sidra_publish.h: before
 * 1.3  LABEL, VECTOR, more element types; fault causes PRODUCER and PROGRAM; epochs. From here on docs/uapi.md lists changes of what existed
 * 1.4  MATMUL, LAYER
 * 2.0  POOL, SORT; VEC is gone
 */
#ifndef SIDRA_ACCEL_H
#define SIDRA_ACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "sidra_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_UAPI_VERSION_MAJOR	1u
#define SIDRA_UAPI_VERSION_MINOR	3u

#define SIDRA_DEADLINE_NEVER		(~0ull)

/* ---- Device ---------------------------------------------------------------------------------------------------- */

#define SIDRA_DEVICE_MODEL		(1u << 0)	/* a chip model, not silicon */
#define SIDRA_DEVICE_EMBEDDED		(1u << 1)	/* a model inside this process */

/**
 * struct sidra_ioctl_device_query - identity and free resources of the device (out, except @flags)
 * @flags: in, zero
 * @kind:  SIDRA_DEVICE_*
 * @uapi_version, @hw_version, @driver_version, @firmware_version: major << 16 | minor; @firmware_version 0: no firmware is running
 * @features:  SIDRA_FEATURE_*
 * @generation: number of device resets so far
 */
struct sidra_ioctl_device_query {
	__u32 flags;
	__u32 kind;
	__u32 uapi_version;
	__u32 hw_version;
	__u32 driver_version;
	__u32 firmware_version;
	__u64 features;
	__u16 clusters;
	__u16 cus_per_cluster;
	__u16 xbars_per_cu;
	__u16 rows;
	__u16 cols;
	__u16 contexts_max;
	__u16 queues_max;
	__u16 queues_per_context_max;
	__u32 xbars_total;
	__u32 xbars_free;
	__u64 l3_size;
	__u64 l3_free;
	__u32 l1_size;
	__u32 l2_size;
	__u32 generation;
	__u32 va_bits;
	__u8  uuid[16];
	__u64 reserved[3];
};

/**
 * struct sidra_ioctl_device_clock - reads both clocks at one moment (out)
 * @device_ns:    device clock
 * @monotonic_ns: CLOCK_MONOTONIC at the same moment
 * @error_ns:     the largest possible time between the two readings
 */
struct sidra_ioctl_device_clock {
	__u64 flags;	/* in, zero */
	__u64 device_ns;
	__u64 monotonic_ns;
	__u64 error_ns;
};

/**
 * struct sidra_ioctl_device_reset - reset the whole device; all contexts of all users are lost. Needs CAP_SYS_ADMIN
 */
struct sidra_ioctl_device_reset {
	__u64 flags;	/* in, zero */
};

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

/**
 * struct sidra_ioctl_context_create - create a context with its own address space, weights table and queue table
 * @flags:   in, zero
 * @context: out, handle
 * @doorbell_offset: out, mmap offset of its doorbell page (SIDRA_BAR_DOORBELL_STRIDE bytes); doorbell of queue q at q * 8
 */
struct sidra_ioctl_context_create {
	__u32 flags;
	__u32 context;
	__u64 doorbell_offset;
};

/** struct sidra_ioctl_context - for DESTROY, and for RECOVER: makes a lost context usable again; buffers and weights stay, queues do not */
struct sidra_ioctl_context {
	__u32 context;	/* in */
	__u32 flags;	/* in, zero */
};

enum sidra_context_state {
	SIDRA_CONTEXT_OK	= 0,
	SIDRA_CONTEXT_LOST	= 1
};

/**
 * struct sidra_ioctl_context_query - state of a context
 * @context: in. @flags: in, zero. @state: out, enum sidra_context_state. @generation: out, raised by each RECOVER
 * @fault:   out, the latest fault of any of its queues (cause 0: none since creation)
 */
struct sidra_ioctl_context_query {
	__u32 context;
	__u32 flags;
	__u32 state;
	__u32 generation;
	struct sidra_fault fault;
};

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

#define SIDRA_BUFFER_LOCAL		(1u << 0)	/* in L3 SRAM, zeroed; mapped through BAR2 */

/**
 * struct sidra_ioctl_buffer_create - allocate zeroed memory
 * @size:   inout, bytes, > 0; rounded up to pages
 * @flags:  in, SIDRA_BUFFER_*
 * @handle: out, GEM handle: closed with BUFFER_CLOSE, exported and imported with PRIME
 * @mmap_offset: out
 */
struct sidra_ioctl_buffer_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
	__u64 mmap_offset;
};

/**
 * struct sidra_ioctl_buffer_register - make memory of the caller usable by the device
 * @address, @size: in; any alignment. Whole pages are pinned; they count against RLIMIT_MEMLOCK (-EDQUOT: the limit is exceeded)
 * @flags:  in, SIDRA_REGISTER_*
 * @handle: out
 *
 * Memory that cannot be pinned, such as another driver's mapping, is -EFAULT.
 */
#define SIDRA_REGISTER_READONLY		(1u << 0)	/* the device may only read it */
struct sidra_ioctl_buffer_register {
	__u64 address;
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct sidra_ioctl_buffer_close - drop a handle. The memory is freed once nothing maps it or refers to it any more
 */
struct sidra_ioctl_buffer_close {
	__u32 handle;	/* in */
	__u32 flags;	/* in, zero */
};

#define SIDRA_BIND_READ			(1u << 0)
#define SIDRA_BIND_WRITE		(1u << 1)

/**
 * struct sidra_ioctl_buffer_bind - map a buffer into a context's address space
 * @context, @handle: in
 * @flags:   in, SIDRA_BIND_*, at least READ
 * @pad:     zero
 * @address: out, device address of the buffer's first byte (for registered memory: of the byte at the given address)
 */
struct sidra_ioctl_buffer_bind {
	__u32 context;
	__u32 handle;
	__u32 flags;
	__u32 pad;
	__u64 address;
};

/**
 * struct sidra_ioctl_buffer_unbind - remove a mapping. When the call returns, the device no longer accesses it
 */
struct sidra_ioctl_buffer_unbind {
	__u32 context;
	__u32 handle;
	__u64 address;	/* in, as given by bind */
};

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

/*
 * A point of a queue's timeline is {epoch, value}: it is reached when the epoch's packets below the value have retired. The driver begins
 * an epoch when it creates or resets a queue, and never gives the same epoch to two queues of a context. The state page shows the current
 * epoch; SUBMIT, QUEUE_RESET and QUEUE_QUERY return it. An epoch ends when its queue is reset or destroyed. Points reached by then stay
 * reached. For all others, WAIT, ARM and WAIT_VALUE fail with -ECANCELED immediately, because their packets were dropped. The driver
 * remembers the last SIDRA_QUEUE_EPOCHS_KEPT ended epochs of a queue; points of older ones, and of a queue that was destroyed, count as
 * dropped. 0 is not a valid epoch: -EINVAL.
 */
enum sidra_queue_kind {
	SIDRA_QUEUE_USER	= 0,	/* ring in the caller's memory, doorbell mapped */
	SIDRA_QUEUE_KERNEL	= 1	/* jobs by SUBMIT */
};

/**
 * struct sidra_ioctl_queue_create - create a queue
 * @context:   in
 * @kind:      in, enum sidra_queue_kind
 * @ring_log2: in, packets; SIDRA_HW_QUEUE_LOG2_MIN..MAX
 * @priority:  in, 0..2; 2 needs CAP_SYS_NICE
 * @flags:     in, SIDRA_QUEUE_*
 * @queue:     out, number in the context; its doorbell is at queue * 8 in the context's doorbell page
 * @ring_offset:  out, mmap offset of the ring memory: packets, then one page whose first word is the write index, then reports
 *               (user queue; 0 for a kernel queue)
 * @ring_size:    out, bytes to map at @ring_offset
 * @report_offset: out, bytes from the start of the ring memory to struct sidra_report[]; 0 without SIDRA_QUEUE_REPORTS
 * @state_offset: out, mmap offset of the state page (read-only)
 */
#define SIDRA_QUEUE_REPORTS		(1u << 0)	/* a report for each packet */
struct sidra_ioctl_queue_create {
	__u32 context;
	__u32 kind;
	__u32 ring_log2;
	__u32 priority;
	__u32 flags;
	__u32 queue;
	__u64 ring_offset;
	__u64 ring_size;
	__u64 report_offset;
	__u64 state_offset;
};

/** struct sidra_ioctl_queue - for DESTROY: drops packets that have not retired */
struct sidra_ioctl_queue {
	__u32 context;	/* in */
	__u32 queue;	/* in */
	__u32 flags;	/* in, zero */
	__u32 pad;
};

/**
 * struct sidra_ioctl_queue_reset - drop packets that have not retired, and begin another epoch behind them
 * @retired: out, final timeline of the epoch that ended; packets beyond it were dropped
 * @epoch:   out, the new epoch
 */
struct sidra_ioctl_queue_reset {
	__u32 context;	/* in */
	__u32 queue;	/* in */
	__u32 flags;	/* in, zero */
	__u32 epoch;
	__u64 retired;
};

/**
 * struct sidra_ioctl_queue_query - position and last fault of a queue, for callers that do not map the state page
 */
struct sidra_ioctl_queue_query {
	__u32 context;	/* in */
	__u32 queue;	/* in */
	__u32 flags;	/* in, zero */
	__u32 run_state;	/* out, enum sidra_queue_run_state */
	__u64 timeline;	/* out */
	__u64 progress;	/* out */
	struct sidra_fault fault;	/* out */
	__u32 epoch;	/* out, epoch that @timeline belongs to */
	__u32 pad;	/* out, zero */
};

/**
 * struct sidra_wait_item - a point of a timeline to wait for
 * @context, @queue: the queue
 * @value: timeline value
 * @epoch: epoch that @value belongs to
 * @pad:   zero
 */
struct sidra_wait_item {
	__u32 context;
	__u32 queue;
	__u64 value;
	__u32 epoch;
	__u32 pad;
};

#define SIDRA_WAIT_ALL			(1u << 0)	/* wait for all items, not for any one */
#define SIDRA_WAIT_MAX			64u

/**
 * struct sidra_ioctl_wait - sleep until points of timelines are reached
 * @items:    in, pointer to struct sidra_wait_item[@count], @stride bytes apart
 * @count:    in, 1..SIDRA_WAIT_MAX
 * @flags:    in, SIDRA_WAIT_ALL
 * @deadline: in
 * @index:    out, without SIDRA_WAIT_ALL the first item found reached; on failure the item that failed
 *
 * -EIO: a queue stopped before its point, by a fault or a loss. -ECANCELED: a point was dropped. -ETIMEDOUT: the deadline passed.
 */
struct sidra_ioctl_wait {
	__u64 items;
	__u32 count;
	__u32 stride;
	__u32 flags;
	__u32 index;
	__u64 deadline;
};

/**
 * struct sidra_ioctl_arm - signal an eventfd once, when a point of a timeline is reached or its queue stops
 * @eventfd: in; -1 cancels the notifications that are armed for this queue and value
 *
 * If the point is already reached, the eventfd is signalled immediately. It is also signalled when the queue is reset or destroyed.
 * -ECANCELED: the point was dropped before the call.
 */
struct sidra_ioctl_arm {
	__u32 context;
	__u32 queue;
	__u64 value;
	__s32 eventfd;
	__u32 flags;	/* in, zero */
	__u32 epoch;	/* in, epoch that @value belongs to */
	__u32 pad;	/* in, zero */
};

/**
 * struct sidra_syncobj_point - a point of a timeline syncobj; @point is 0 for a binary syncobj
 */
struct sidra_syncobj_point {
	__u32 handle;
	__u32 pad;
	__u64 point;
};

/**
 * struct sidra_ioctl_submit - submit packets to a kernel queue, with fences
 * @packets:  in, pointer to 64-byte packets, which are copied; SEM_* is not allowed
 * @count:    in, number of packets, 1..4096
 * @in_count, @out_count: in, number of struct sidra_syncobj_point at @in_points to wait for, and at @out_points to signal; at most 64 each
 * @in_fence_fd:  in, sync_file to wait for, or -1
 * @out_fence_fd: inout, -1 on entry; with SIDRA_SUBMIT_OUT_FENCE a new sync_file on return
 * @deadline: in, ns of device time after which the fences signal an error; 0: the driver's limit
 * @value:    out, timeline value at which all packets have retired
 * @epoch:    out, epoch that @value belongs to
 * @pad:      in, zero
 *
 * -EBUSY: the ring is full, and nothing was submitted.
 */
#define SIDRA_SUBMIT_OUT_FENCE		(1u << 0)
struct sidra_ioctl_submit {
	__u32 context;
	__u32 queue;
	__u64 packets;
	__u32 count;
	__u32 flags;
	__u64 in_points;
	__u64 out_points;
	__u32 in_count;
	__u32 out_count;
	__s32 in_fence_fd;
	__s32 out_fence_fd;
	__u64 deadline;
	__u64 value;
	__u32 epoch;
	__u32 pad;
};

/* ---- Weights --------------------------------------------------------------------------------------------------- */

#define SIDRA_WEIGHTS_COMPUTE		(1u << 0)
#define SIDRA_WEIGHTS_PROGRAM		(1u << 1)
#define SIDRA_WEIGHTS_READBACK		(1u << 2)
#define SIDRA_WEIGHTS_RIGHTS		7u

/**
 * struct sidra_ioctl_weights_create - allocate crossbars for a K x N matrix, without programming them
 * @context:  in
 * @encoding: in, enum sidra_encoding
 * @rows, @cols: in, K and N
 * @rights:   in, SIDRA_WEIGHTS_* of this handle
 * @flags:    in, zero
 * @index:    out, index in the context's weights table, for packets
 * @xbars:    inout, size of the array @xbar_ids if there is one, which must be the number of tiles (-EINVAL); then number of crossbars
 * @uid:      out, identity of the object on this array
 * @xbar_ids: in, pointer to __u32[@xbars], the crossbar that each tile takes (tile by tile, row-major), or 0: the driver chooses
 *
 * The object is anonymous: it is freed with its last handle. -ENOSPC: not enough free crossbars. -EBUSY: a crossbar in @xbar_ids is in use,
 * is there twice, or does not exist; another choice may succeed.
 */
struct sidra_ioctl_weights_create {
	__u32 context;
	__u32 encoding;
	__u32 rows;
	__u32 cols;
	__u32 rights;
	__u32 flags;
	__u32 index;
	__u32 xbars;
	__u64 uid;
	__u64 xbar_ids;
};

/**
 * struct sidra_ioctl_weights_publish - give an object a name, so that it outlives its handles, processes and the driver
 * @name:  in, pointer to a NUL-terminated name of 1..SIDRA_NVM_NAME_MAX bytes; -EEXIST: the name is in use
 * @data, @data_size: in, up to 1 MiB of data that is stored with it, such as per-column scales
 * @hash:  in, content hash of the caller's choice, or zero
 * @mode:  in, permission bits; @uuid: out
 *
 * Every tile must be programmed (-ENODATA).
 */
struct sidra_ioctl_weights_publish {
	__u32 context;
	__u32 index;
	__u64 name;
	__u64 data;
	__u64 data_size;
	__u32 mode;
	__u32 flags;	/* in, zero */
	__u8  hash[32];
	__u8  uuid[16];
};

/**
 * struct sidra_ioctl_weights_open - open a named object
 * @name: in. @rights: in, must be granted by owner and mode (-EACCES)
 * @data, @data_size: @data in, buffer for the data stored with it; @data_size inout, its size (-ENOSPC: too small; returns the size needed)
 * @rows, @cols, @encoding, @xbars, @uid, @index: out
 */
struct sidra_ioctl_weights_open {
	__u32 context;
	__u32 rights;
	__u64 name;
	__u64 data;
	__u64 data_size;
	__u32 rows;
	__u32 cols;
	__u32 encoding;
	__u32 xbars;
	__u32 index;
	__u32 flags;	/* in, zero */
	__u64 uid;
};

/** struct sidra_ioctl_weights_unlink - remove a name; the object is freed with its last handle. For the owner, or with CAP_SYS_ADMIN */
struct sidra_ioctl_weights_unlink {
	__u64 name;	/* in */
	__u32 flags;	/* in; SIDRA_UNLINK_EVICT: fails with -EBUSY while handles exist, so on success the cells are erased */
	__u32 pad;
};
#define SIDRA_UNLINK_EVICT		(1u << 0)

/** struct sidra_ioctl_weights - for DESTROY: drops a handle */
struct sidra_ioctl_weights {
	__u32 context;
	__u32 index;
	__u32 flags;	/* in, zero */
	__u32 pad;
};

/**
 * struct sidra_ioctl_weights_share - create a file descriptor (CLOEXEC) from which others import the object with @rights
 * @rights: in, subset of the handle's rights (-EACCES). @fd: out
 * @data, @data_size: in, up to 1 MiB of data that is kept with the descriptor, as in PUBLISH
 */
struct sidra_ioctl_weights_share {
	__u32 context;
	__u32 index;
	__u32 rights;
	__s32 fd;
	__u64 data;
	__u64 data_size;
	__u64 flags;	/* in, zero */
};

/**
 * struct sidra_ioctl_weights_import - create a handle from such a descriptor; outputs as in OPEN
 * @rights: out, rights that the descriptor grants
 * @data, @data_size: as in OPEN
 */
struct sidra_ioctl_weights_import {
	__u32 context;
	__s32 fd;
	__u32 rights;
	__u32 rows;
	__u32 cols;
	__u32 encoding;
	__u32 xbars;
	__u32 index;
	__u64 data;
	__u64 data_size;
	__u64 uid;
	__u64 flags;	/* in, zero */
};

/**
 * struct sidra_ioctl_weights_query - crossbars and programming progress of an object
 * @xbar_ids: in, pointer to __u32[@xbars] to fill, or 0
 * @xbars:    inout, size of that array, then number of crossbars
 * @programmed_rows, @total_rows: out, number of tile rows that are programmed, and of all tile rows
 */
struct sidra_ioctl_weights_query {
	__u32 context;
	__u32 index;
	__u64 xbar_ids;
	__u32 xbars;
	__u32 flags;	/* in, zero */
	__u32 programmed_rows;
	__u32 total_rows;
};

/** struct sidra_ioctl_weights_list - return the next named object at or after @cursor (begin with 0; -ENOENT: no more) */
struct sidra_ioctl_weights_list {
	__u64 entry;	/* in, pointer to struct sidra_nvm_entry to fill */
	__u32 cursor;	/* inout */
	__u32 flags;	/* in, zero */
};

/**
 * struct sidra_ioctl_weights_report - programming effort, errors and drift of one tile (since 1.1)
 * @tile:   in, its number in the grid, row by row
 * @flags:  in, zero
 * @report: in, pointer to struct sidra_hw_xbar_report to fill. For a tile that the object has not programmed, all is zero except
 *          @programs, @level and @stuck_cells of the crossbar
 */
struct sidra_ioctl_weights_report {
	__u32 context;
	__u32 index;
	__u32 tile;
	__u32 flags;
	__u64 report;
};

/* ---- io_uring (IORING_OP_URING_CMD on the same file) -------------------------------------------------------------- */

/*
 * Values of sqe->cmd_op. A result below 0 is -errno; with IORING_SETUP_CQE32 the second word of the result is the timeline value.
 *   SUBMIT:     submits packets to a kernel queue, without SEM_* and fences; completes with 0 when the last one has retired. With
 *               IORING_URING_CMD_FIXED the packets are the sqe->len bytes at sqe->addr, in the registered buffer sqe->buf_index. Without it,
 *               it is one packet, in the 64 bytes behind struct sidra_uring_cmd (needs IORING_SETUP_SQE128, otherwise -EINVAL). @value is
 *               zero. -EBUSY: the ring is full
 *   WAIT_VALUE: completes with 0 when the timeline of a queue of either kind has reached @value of the epoch in sqe->len. -EIO: the queue
 *               stopped before it; -ECANCELED: the point was dropped
 *   CANCEL:     completes all SUBMITs and WAIT_VALUEs that wait for @value with -ECANCELED, without stopping their packets; returns how many
 *               there were, or -ENOENT
 * Waiting commands complete with -ENOENT when their queue is destroyed, and with -ENODEV when the device is removed. Commands on rings with
 * IORING_SETUP_IOPOLL fail with -EOPNOTSUPP.
 */
enum sidra_uring_op {
	SIDRA_URING_SUBMIT	= 1,
	SIDRA_URING_WAIT_VALUE	= 2,
	SIDRA_URING_CANCEL	= 3
};

/**
 * struct sidra_uring_cmd - sqe->cmd
 */
struct sidra_uring_cmd {
	__u32 context;
	__u32 queue;
	__u64 value;
};

/* ---- Numbers (DRM driver range: type 'd', 0x40 + n) ------------------------------------------------------------- */

#define SIDRA_IOCTL(n, type)		_IOWR('d', 0x40 + (n), type)

#define SIDRA_IOCTL_DEVICE_QUERY	SIDRA_IOCTL(0x00, struct sidra_ioctl_device_query)
#define SIDRA_IOCTL_DEVICE_CLOCK	SIDRA_IOCTL(0x01, struct sidra_ioctl_device_clock)
#define SIDRA_IOCTL_DEVICE_RESET	SIDRA_IOCTL(0x02, struct sidra_ioctl_device_reset)
#define SIDRA_IOCTL_CONTEXT_CREATE	SIDRA_IOCTL(0x08, struct sidra_ioctl_context_create)
#define SIDRA_IOCTL_CONTEXT_DESTROY	SIDRA_IOCTL(0x09, struct sidra_ioctl_context)
#define SIDRA_IOCTL_CONTEXT_QUERY	SIDRA_IOCTL(0x0a, struct sidra_ioctl_context_query)
#define SIDRA_IOCTL_CONTEXT_RECOVER	SIDRA_IOCTL(0x0b, struct sidra_ioctl_context)
#define SIDRA_IOCTL_BUFFER_CREATE	SIDRA_IOCTL(0x10, struct sidra_ioctl_buffer_create)
#define SIDRA_IOCTL_BUFFER_REGISTER	SIDRA_IOCTL(0x11, struct sidra_ioctl_buffer_register)
#define SIDRA_IOCTL_BUFFER_CLOSE	SIDRA_IOCTL(0x12, struct sidra_ioctl_buffer_close)
#define SIDRA_IOCTL_BUFFER_BIND		SIDRA_IOCTL(0x13, struct sidra_ioctl_buffer_bind)
#define SIDRA_IOCTL_BUFFER_UNBIND	SIDRA_IOCTL(0x14, struct sidra_ioctl_buffer_unbind)
#define SIDRA_IOCTL_QUEUE_CREATE	SIDRA_IOCTL(0x18, struct sidra_ioctl_queue_create)
#define SIDRA_IOCTL_QUEUE_DESTROY	SIDRA_IOCTL(0x19, struct sidra_ioctl_queue)
#define SIDRA_IOCTL_QUEUE_RESET		SIDRA_IOCTL(0x1a, struct sidra_ioctl_queue_reset)
#define SIDRA_IOCTL_QUEUE_QUERY		SIDRA_IOCTL(0x1b, struct sidra_ioctl_queue_query)
#define SIDRA_IOCTL_WAIT		SIDRA_IOCTL(0x1c, struct sidra_ioctl_wait)
#define SIDRA_IOCTL_ARM			SIDRA_IOCTL(0x1d, struct sidra_ioctl_arm)
#define SIDRA_IOCTL_SUBMIT		SIDRA_IOCTL(0x1e, struct sidra_ioctl_submit)
#define SIDRA_IOCTL_WEIGHTS_CREATE	SIDRA_IOCTL(0x20, struct sidra_ioctl_weights_create)
#define SIDRA_IOCTL_WEIGHTS_PUBLISH	SIDRA_IOCTL(0x21, struct sidra_ioctl_weights_publish)
#define SIDRA_IOCTL_WEIGHTS_OPEN	SIDRA_IOCTL(0x22, struct sidra_ioctl_weights_open)
#define SIDRA_IOCTL_WEIGHTS_UNLINK	SIDRA_IOCTL(0x23, struct sidra_ioctl_weights_unlink)
#define SIDRA_IOCTL_WEIGHTS_DESTROY	SIDRA_IOCTL(0x24, struct sidra_ioctl_weights)
#define SIDRA_IOCTL_WEIGHTS_SHARE	SIDRA_IOCTL(0x25, struct sidra_ioctl_weights_share)
#define SIDRA_IOCTL_WEIGHTS_IMPORT	SIDRA_IOCTL(0x26, struct sidra_ioctl_weights_import)
#define SIDRA_IOCTL_WEIGHTS_QUERY	SIDRA_IOCTL(0x27, struct sidra_ioctl_weights_query)
#define SIDRA_IOCTL_WEIGHTS_LIST	SIDRA_IOCTL(0x28, struct sidra_ioctl_weights_list)
#define SIDRA_IOCTL_WEIGHTS_REPORT	SIDRA_IOCTL(0x29, struct sidra_ioctl_weights_report)

/* ---- The contract, asserted ------------------------------------------------------------------------------------- */

SIDRA_ASSERT_SIZE(struct sidra_ioctl_device_query, 128);
SIDRA_ASSERT_AT(struct sidra_ioctl_device_query, xbars_total, 48);
SIDRA_ASSERT_AT(struct sidra_ioctl_device_query, uuid, 88);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_device_clock, 32);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_device_reset, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context_create, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context_query, 80);
SIDRA_ASSERT_AT(struct sidra_ioctl_context_query, fault, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_create, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_register, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_close, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_bind, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_unbind, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_create, 56);
SIDRA_ASSERT_AT(struct sidra_ioctl_queue_create, ring_offset, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_reset, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_query, 104);
SIDRA_ASSERT_SIZE(struct sidra_wait_item, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_wait, 32);
SIDRA_ASSERT_AT(struct sidra_ioctl_wait, deadline, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_arm, 32);
SIDRA_ASSERT_SIZE(struct sidra_syncobj_point, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_submit, 80);
SIDRA_ASSERT_AT(struct sidra_ioctl_submit, in_fence_fd, 48);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_create, 48);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_create, xbar_ids, 40);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_publish, 88);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_publish, hash, 40);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_open, 64);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_open, uid, 56);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_unlink, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_share, 40);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_share, data, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_import, 64);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_import, data, 32);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_query, 32);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_list, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_report, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_report, report, 16);
SIDRA_ASSERT_SIZE(struct sidra_uring_cmd, 16);
SIDRA_ASSERT_AT(struct sidra_uring_cmd, value, 8);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_ACCEL_H */
