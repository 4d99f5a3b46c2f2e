/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * ioctl contract of /dev/sidraN. The embedded transport of libsidra implements the same calls in
 * process.
 *
 * Rules, enforced by the driver
 * - Fixed-width fields, 8-byte aligned structs without holes; no unions. The byte order is that of
 *   the machine, except in packets and in struct sidra_fault, which are as the chip has them.
 * - The driver reads fields marked "in", and writes fields marked "out"; "inout" is both. A call
 *   that fails sets "out" to 0 where nothing else is said, except with -ENOTTY, -E2BIG and -ENODEV,
 *   or a struct that is too small. Pads, reserved fields and unknown flags must be 0 (-EINVAL).
 * - Structs may grow at their end, in a new minor version. The number of a call contains the size
 *   of the caller's struct. Fields that the caller's struct lacks are zero for the driver. Fields
 *   that only the caller knows must be zero (-E2BIG: the driver is too old for this request), and
 *   are zero on return. Structs that are smaller than in version 2.0 are refused with -EINVAL.
 * - The same holds for structs behind pointers: one has a size, at most SIDRA_STRIDE_MAX, and
 *   arrays have a count and a stride, the distance between elements, which is at least the size of
 *   an element and at most SIDRA_STRIDE_MAX.
 * - Handles are valid for the open file that created them; a handle of another file is -ENOENT. 0
 *   is never a valid handle.
 * - -EMFILE: all contexts, or all queues of a context or of the device, are in use. -EDQUOT: a
 *   limit of the calling user is reached (SIDRA_QUERY_LIMITS). No call returns -EAGAIN, because
 *   libdrm would repeat it.
 * - A deadline is a moment: absolute CLOCK_MONOTONIC nanoseconds; 0 polls, SIDRA_DEADLINE_NEVER
 *   waits for ever. A wait that reaches its deadline fails with -ETIMEDOUT; one that fails with
 *   -EINTR may be repeated unchanged.
 * - After a device reset, calls with older contexts fail with -ESTALE until
 *   SIDRA_IOCTL_CONTEXT_RECOVER; after removal all calls fail with -ENODEV.
 * - Offsets for mmap(2) are below 2^44, so that they fit into the pages of mmap2(2) on 32-bit
 *   systems.
 *
 * The errors of each call, what to do about them, and how to move a program from 1.x are in
 * docs/uapi.md.
 *
 * Changelog
 * 2.0  first version that is kept compatible
 * 2.1  DEVICE_QUERY: SIDRA_QUERY_REFUSAL
 * 2.2  struct sidra_query_limits: data, data_max
 */
#ifndef SIDRA_ACCEL_H
#define SIDRA_ACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "sidra_state.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_UAPI_VERSION_MAJOR	2u
#define SIDRA_UAPI_VERSION_MINOR	2u

#define SIDRA_DEADLINE_NEVER		(~0ull)
#define SIDRA_STRIDE_MAX		4096u

/* ---- Device ---------------------------------------------------------------------------------- */

#define SIDRA_DEVICE_MODEL		(1u << 0)	/* a chip model, not silicon */
#define SIDRA_DEVICE_EMBEDDED		(1u << 1)	/* a model inside this process */

/**
 * enum sidra_query_type - what DEVICE_QUERY returns
 * @SIDRA_QUERY_DEVICE: struct sidra_query_device
 * @SIDRA_QUERY_STATUS: struct sidra_query_status
 * @SIDRA_QUERY_CLOCK: struct sidra_query_clock
 * @SIDRA_QUERY_LIMITS: struct sidra_query_limits
 * @SIDRA_QUERY_REFUSAL: struct sidra_query_refusal
 */
enum sidra_query_type {
	SIDRA_QUERY_DEVICE	= 0,
	SIDRA_QUERY_STATUS	= 1,
	SIDRA_QUERY_CLOCK	= 2,
	SIDRA_QUERY_LIMITS	= 3,
	SIDRA_QUERY_REFUSAL	= 4
};

/**
 * struct sidra_ioctl_device_query - query the device
 * @query: in, enum sidra_query_type
 * @flags: in, zero
 * @data: in, pointer to the struct to fill, or 0
 * @size: inout, bytes at @data; returns the size of the struct that the driver knows. The driver
 *        writes as much of it as there is room for, and zeroes what it does not know
 * @pad: in, zero
 */
struct sidra_ioctl_device_query {
	__u32 query;
	__u32 flags;
	__u64 data;
	__u32 size;
	__u32 pad;
};

/**
 * struct sidra_query_device - identity of the device, which does not change
 * @kind: SIDRA_DEVICE_*
 * @uapi_version: version of this contract that the driver implements: major << 16 | minor
 * @hw_version: version of the hardware contract (sidra_cmd.h, sidra_state.h): major << 16 | minor
 * @driver_version: version of the driver: major << 16 | minor
 * @features: SIDRA_FEATURE_*
 * @clusters: clusters of the chip
 * @cus_per_cluster: compute units of a cluster
 * @xbars_per_cu: crossbars of a compute unit
 * @rows: rows of a crossbar
 * @cols: columns of a crossbar
 * @contexts_max: contexts that may exist at once
 * @queues_max: queues that may exist at once
 * @queues_per_context_max: queues that one context may have
 * @xbars_total: crossbars of the chip
 * @va_bits: width of a device address
 * @l1_size: bytes of memory in a compute unit
 * @l2_size: bytes of memory in a cluster
 * @l3_size: bytes of L3 memory
 * @uuid: identity of the chip
 */
struct sidra_query_device {
	__u32 kind;
	__u32 uapi_version;
	__u32 hw_version;
	__u32 driver_version;
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
	__u32 va_bits;
	__u32 l1_size;
	__u32 l2_size;
	__u64 l3_size;
	__u8  uuid[16];
};

/**
 * struct sidra_query_status - what changes
 * @generation: number of device resets so far
 * @firmware_version: major << 16 | minor; 0: no firmware is running
 * @contexts: contexts that exist
 * @queues: queues that exist
 * @xbars_free: crossbars that belong to no weights
 * @pad: zero
 * @l3_free: bytes of L3 that are free
 */
struct sidra_query_status {
	__u32 generation;
	__u32 firmware_version;
	__u32 contexts;
	__u32 queues;
	__u32 xbars_free;
	__u32 pad;
	__u64 l3_free;
};

/**
 * struct sidra_query_clock - both clocks at one moment
 * @device_ns: device clock, in nanoseconds
 * @monotonic_ns: CLOCK_MONOTONIC at the same moment, in nanoseconds
 * @error_ns: the largest possible time between the two readings, in nanoseconds
 */
struct sidra_query_clock {
	__u64 device_ns;
	__u64 monotonic_ns;
	__u64 error_ns;
};

/**
 * struct sidra_query_limits - what the user who opened this file holds in all files, and may hold
 * @contexts: contexts that they hold
 * @contexts_max: limit of @contexts
 * @queues: queues that they hold
 * @queues_max: limit of @queues
 * @names: names of weights, also those of processes that have ended
 * @names_max: limit of @names
 * @xbars: crossbars of weights that the user created
 * @xbars_max: limit of @xbars
 * @l3: bytes of L3 in buffers
 * @l3_max: limit of @l3
 * @data: bytes of non-volatile memory in which data of names is kept; that of each name is rounded
 *        up to 64
 * @data_max: limit of @data
 *
 * A call that would exceed one fails with -EDQUOT, except with CAP_SYS_RESOURCE. The administrator
 * sets them (docs/driver.md).
 */
struct sidra_query_limits {
	__u32 contexts;
	__u32 contexts_max;
	__u32 queues;
	__u32 queues_max;
	__u32 names;
	__u32 names_max;
	__u32 xbars;
	__u32 xbars_max;
	__u64 l3;
	__u64 l3_max;
	__u64 data;
	__u64 data_max;
};

/**
 * struct sidra_query_refusal - the argument that was the reason why the calling thread's latest
 * failed call of the same file failed
 * @call: number of that call, _IOC_NR(); 0: no argument is known, and the other fields are zero.
 *        Not all errors have one, and another thread whose call fails replaces it
 * @error: the errno that it set, such as EINVAL
 * @value: the argument; if its type is signed, extended with its sign
 * @name: its name in the struct of the call, such as "flags" or "items[2].epoch"; ends with a zero
 */
struct sidra_query_refusal {
	__u32 call;
	__u32 error;
	__u64 value;
	char  name[48];
};

/**
 * struct sidra_ioctl_device_reset - reset the whole device; all contexts of all users are lost.
 * Needs CAP_SYS_ADMIN
 * @flags: in, zero
 */
struct sidra_ioctl_device_reset {
	__u64 flags;
};

/* ---- Address spaces -------------------------------------------------------------------------- */

/**
 * struct sidra_ioctl_vm_create - create an address space, which contexts of the same file may share
 * @flags: in, zero
 * @vm: out, handle of the address space
 */
struct sidra_ioctl_vm_create {
	__u32 flags;
	__u32 vm;
};

/**
 * struct sidra_ioctl_vm - for VM_DESTROY. -EBUSY: contexts use the address space. Buffers that are
 * bound to it are unbound
 * @vm: in, handle of the address space
 * @flags: in, zero
 */
struct sidra_ioctl_vm {
	__u32 vm;
	__u32 flags;
};

/* ---- Contexts -------------------------------------------------------------------------------- */

/**
 * struct sidra_ioctl_context_create - create a context with its own weights table and queue table
 * @vm: in, handle of its address space
 * @flags: in, zero
 * @context: out, handle of the context
 * @pad: in, zero
 * @doorbell_offset: out, mmap offset of its doorbell page (SIDRA_DOORBELL_PAGE_SIZE bytes);
 *                   doorbell of queue q at q * 8
 */
struct sidra_ioctl_context_create {
	__u32 vm;
	__u32 flags;
	__u32 context;
	__u32 pad;
	__u64 doorbell_offset;
};

/**
 * struct sidra_ioctl_context - for DESTROY, and for RECOVER: makes a lost context usable again;
 * buffers and weights stay, queues do not
 * @context: in, handle of the context
 * @flags: in, zero
 */
struct sidra_ioctl_context {
	__u32 context;
	__u32 flags;
};

/**
 * enum sidra_context_state - whether a context is usable
 * @SIDRA_CONTEXT_OK: usable
 * @SIDRA_CONTEXT_LOST: lost by a reset; usable again after RECOVER
 */
enum sidra_context_state {
	SIDRA_CONTEXT_OK	= 0,
	SIDRA_CONTEXT_LOST	= 1
};

/**
 * struct sidra_ioctl_context_query - state of a context
 * @context: in, handle of the context
 * @flags: in, zero
 * @state: out, enum sidra_context_state
 * @generation: out, raised by each RECOVER
 * @vm: out, handle of its address space
 * @pad: in, zero
 * @fault: out, the latest fault of any of its queues (cause 0: none since creation)
 */
struct sidra_ioctl_context_query {
	__u32 context;
	__u32 flags;
	__u32 state;
	__u32 generation;
	__u32 vm;
	__u32 pad;
	struct sidra_fault fault;
};

/* ---- Buffers --------------------------------------------------------------------------------- */

#define SIDRA_BUFFER_LOCAL		(1u << 0)	/* in L3 SRAM, zeroed; mapped via BAR2 */

/**
 * struct sidra_ioctl_buffer_create - allocate zeroed memory
 * @size: inout, bytes, > 0; rounded up to pages
 * @flags: in, SIDRA_BUFFER_*
 * @handle: out, GEM handle: closed with BUFFER_CLOSE, exported and imported with PRIME
 * @mmap_offset: out, mmap offset of the buffer
 */
struct sidra_ioctl_buffer_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
	__u64 mmap_offset;
};

#define SIDRA_REGISTER_READONLY		(1u << 0)	/* the device may only read it */

/**
 * struct sidra_ioctl_buffer_register - make memory of the caller usable by the device
 * @address: in, address of the memory in the calling process, any alignment
 * @size: in, bytes. Whole pages are pinned; they count against RLIMIT_MEMLOCK (-EDQUOT: the limit
 *        is exceeded)
 * @flags: in, SIDRA_REGISTER_*
 * @handle: out, GEM handle, closed with BUFFER_CLOSE
 *
 * Memory that cannot be pinned, such as another driver's mapping, is -EFAULT.
 */
struct sidra_ioctl_buffer_register {
	__u64 address;
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct sidra_ioctl_buffer_close - drop a handle. The memory is freed once nothing maps it or
 * refers to it any more
 * @handle: in, handle of a buffer
 * @flags: in, zero
 */
struct sidra_ioctl_buffer_close {
	__u32 handle;
	__u32 flags;
};

#define SIDRA_BIND_READ			(1u << 0)
#define SIDRA_BIND_WRITE		(1u << 1)
#define SIDRA_BIND_FIXED		(1u << 2)	/* at the address that the caller gives */

/**
 * struct sidra_ioctl_buffer_bind - map a buffer into an address space
 * @vm: in, handle of the address space
 * @handle: in, handle of the buffer
 * @flags: in, SIDRA_BIND_*, at least READ
 * @pad: in, zero
 * @address: inout, device address of the buffer's first byte (for registered memory: of the byte at
 *           the given address). In: zero, unless SIDRA_BIND_FIXED; then it must have the same
 *           offset in its page as the byte (-EINVAL). -EEXIST: part of the range, or of the page
 *           behind it, is in use
 * @reserved: in, zero
 */
struct sidra_ioctl_buffer_bind {
	__u32 vm;
	__u32 handle;
	__u32 flags;
	__u32 pad;
	__u64 address;
	__u64 reserved[2];
};

/**
 * struct sidra_ioctl_buffer_unbind - remove a mapping. When the call returns, the device no longer
 * accesses it
 * @vm: in, handle of the address space
 * @handle: in, handle of the buffer
 * @address: in, as given by bind
 */
struct sidra_ioctl_buffer_unbind {
	__u32 vm;
	__u32 handle;
	__u64 address;
};

/* ---- Queues ---------------------------------------------------------------------------------- */

/*
 * A point of a queue's timeline is {epoch, value}: it is reached when the epoch's packets below the
 * value have retired. The driver begins an epoch when it creates or resets a queue, and never gives
 * the same epoch to two queues of a context. The state page shows the current epoch; SUBMIT,
 * QUEUE_RESET and QUEUE_QUERY return it. An epoch ends when its queue is reset or destroyed. Points
 * reached by then stay reached. For all others, WAIT, ARM and WAIT_VALUE fail with -ECANCELED
 * immediately, because their packets were dropped. The driver remembers the last
 * SIDRA_QUEUE_EPOCHS_KEPT ended epochs of a queue; points of older ones, and of a queue that was
 * destroyed, count as dropped. 0 is not a valid epoch: -EINVAL.
 */

/**
 * enum sidra_queue_kind - how packets come into a queue
 * @SIDRA_QUEUE_USER: ring in the caller's memory, doorbell mapped
 * @SIDRA_QUEUE_KERNEL: jobs by SUBMIT
 */
enum sidra_queue_kind {
	SIDRA_QUEUE_USER	= 0,
	SIDRA_QUEUE_KERNEL	= 1
};

#define SIDRA_QUEUE_REPORTS		(1u << 0)	/* a report for each packet */

/**
 * struct sidra_ioctl_queue_create - create a queue
 * @context: in, handle of the context
 * @kind: in, enum sidra_queue_kind
 * @ring_log2: in, the ring has 2^@ring_log2 packets; SIDRA_QUEUE_LOG2_MIN..MAX
 * @priority: in, 0..2; 2 needs CAP_SYS_NICE
 * @flags: in, SIDRA_QUEUE_*; none for a kernel queue
 * @queue: out, number in the context; its doorbell is at queue * 8 in the context's doorbell page
 * @start: in, ring index of the first packet, where the timeline begins, for a queue that continues
 *         a former one; otherwise 0. At most SIDRA_QUEUE_START_MAX
 * @ring_offset: out, mmap offset of the ring memory: packets, then one page whose first word is the
 *               write index, then reports (user queue; 0 for a kernel queue)
 * @ring_size: out, bytes to map at @ring_offset
 * @report_offset: out, bytes from the start of the ring memory to struct sidra_report[]; 0 without
 *                 SIDRA_QUEUE_REPORTS
 * @state_offset: out, mmap offset of the state page (read-only)
 * @reserved: in, zero
 */
struct sidra_ioctl_queue_create {
	__u32 context;
	__u32 kind;
	__u32 ring_log2;
	__u32 priority;
	__u32 flags;
	__u32 queue;
	__u64 start;
	__u64 ring_offset;
	__u64 ring_size;
	__u64 report_offset;
	__u64 state_offset;
	__u64 reserved[2];
};

/**
 * struct sidra_ioctl_queue - for DESTROY: drops packets that have not retired
 * @context: in, handle of the context
 * @queue: in, number of the queue in the context
 * @flags: in, zero
 * @pad: in, zero
 */
struct sidra_ioctl_queue {
	__u32 context;
	__u32 queue;
	__u32 flags;
	__u32 pad;
};

/**
 * struct sidra_ioctl_queue_reset - drop packets that have not retired, and begin another epoch
 * behind them
 * @context: in, handle of the context
 * @queue: in, number of the queue in the context
 * @flags: in, zero
 * @epoch: out, the new epoch
 * @retired: out, final timeline of the epoch that ended; packets beyond it were dropped
 */
struct sidra_ioctl_queue_reset {
	__u32 context;
	__u32 queue;
	__u32 flags;
	__u32 epoch;
	__u64 retired;
};

/**
 * struct sidra_ioctl_queue_query - shape, position and last fault of a queue: for callers that do
 * not map the state page, and for those that create an equal queue later
 * @context: in, handle of the context
 * @queue: in, number of the queue in the context
 * @flags: in, zero
 * @run_state: out, enum sidra_queue_run_state
 * @timeline: out, ring index of the next packet to retire
 * @progress: out, changes whenever packets retire or work is done inside a packet
 * @fault: out, why the queue stopped, if it did
 * @epoch: out, epoch that @timeline belongs to
 * @kind: out, as for QUEUE_CREATE
 * @ring_log2: out, as for QUEUE_CREATE
 * @priority: out, as for QUEUE_CREATE
 * @queue_flags: out, SIDRA_QUEUE_*
 * @pad: in, zero
 * @submitted: out, ring index behind the last packet that was submitted; in a user queue what its
 *             owner has stored there
 */
struct sidra_ioctl_queue_query {
	__u32 context;
	__u32 queue;
	__u32 flags;
	__u32 run_state;
	__u64 timeline;
	__u64 progress;
	struct sidra_fault fault;
	__u32 epoch;
	__u32 kind;
	__u32 ring_log2;
	__u32 priority;
	__u32 queue_flags;
	__u32 pad;
	__u64 submitted;
};

/**
 * struct sidra_wait_item - a point of a timeline to wait for
 * @context: handle of the queue's context
 * @queue: number of the queue in the context
 * @value: timeline value
 * @epoch: epoch that @value belongs to
 * @pad: zero
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
 * @items: in, pointer to struct sidra_wait_item[@count]
 * @count: in, 1..SIDRA_WAIT_MAX
 * @stride: in, stride of @items
 * @flags: in, SIDRA_WAIT_ALL or none
 * @index: out, without SIDRA_WAIT_ALL the first item found reached; on failure the item that failed
 * @deadline: in, when the wait ends at the latest, as in the rules above
 *
 * -EIO: a queue stopped before its point, by a fault or a loss. -ECANCELED: a point was dropped.
 * -ETIMEDOUT: the deadline passed.
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
 * struct sidra_ioctl_arm - signal an eventfd once, when a point of a timeline is reached or its
 * queue stops
 * @context: in, handle of the queue's context
 * @queue: in, number of the queue in the context
 * @value: in, timeline value
 * @eventfd: in, file descriptor of the eventfd; -1 cancels the notifications that are armed for
 *           this queue and value
 * @flags: in, zero
 * @epoch: in, epoch that @value belongs to
 * @pad: in, zero
 *
 * If the point is already reached, the eventfd is signalled immediately. It is also signalled when
 * the queue is reset or destroyed. -ECANCELED: the point was dropped before the call.
 */
struct sidra_ioctl_arm {
	__u32 context;
	__u32 queue;
	__u64 value;
	__s32 eventfd;
	__u32 flags;
	__u32 epoch;
	__u32 pad;
};

/**
 * struct sidra_syncobj_point - a point of a timeline syncobj
 * @handle: syncobj of the same file
 * @pad: zero
 * @point: point of the timeline; 0 for a binary syncobj
 */
struct sidra_syncobj_point {
	__u32 handle;
	__u32 pad;
	__u64 point;
};

#define SIDRA_SUBMIT_OUT_FENCE		(1u << 0)

/**
 * struct sidra_ioctl_submit - submit packets to a kernel queue, with fences
 * @context: in, handle of the context
 * @queue: in, number of the queue in the context
 * @packets: in, pointer to the packets, which are copied; SEM_* is not allowed
 * @count: in, number of packets, 1..4096
 * @packet_stride: in, SIDRA_CMD_SIZE
 * @in_points: in, pointer to struct sidra_syncobj_point[@in_count], to wait for
 * @out_points: in, pointer to struct sidra_syncobj_point[@out_count], to signal
 * @in_count: in, at most 64
 * @out_count: in, at most 64
 * @point_stride: in, stride of both arrays; may be 0 if both are empty
 * @flags: in, SIDRA_SUBMIT_*
 * @in_fence_fd: in, sync_file to wait for, or -1
 * @out_fence_fd: inout, -1 on entry; with SIDRA_SUBMIT_OUT_FENCE a new sync_file on return
 * @limit_ns: in, device time that the packets may take, counted from when they are the first
 *            unfinished ones of the queue; then their fences signal an error. In nanoseconds; 0:
 *            the driver's limit, which is also the maximum
 * @value: out, timeline value at which all packets have retired
 * @epoch: out, epoch that @value belongs to
 * @pad: in, zero
 * @reserved: in, zero
 *
 * -EBUSY: the ring is full, and nothing was submitted.
 */
struct sidra_ioctl_submit {
	__u32 context;
	__u32 queue;
	__u64 packets;
	__u32 count;
	__u32 packet_stride;
	__u64 in_points;
	__u64 out_points;
	__u32 in_count;
	__u32 out_count;
	__u32 point_stride;
	__u32 flags;
	__s32 in_fence_fd;
	__s32 out_fence_fd;
	__u64 limit_ns;
	__u64 value;
	__u32 epoch;
	__u32 pad;
	__u64 reserved[2];
};

/* ---- Weights --------------------------------------------------------------------------------- */

#define SIDRA_WEIGHTS_COMPUTE		(1u << 0)
#define SIDRA_WEIGHTS_PROGRAM		(1u << 1)
#define SIDRA_WEIGHTS_READBACK		(1u << 2)
#define SIDRA_WEIGHTS_RIGHTS		7u

#define SIDRA_WEIGHTS_NAME_MAX		63u		/* bytes of a name */
#define SIDRA_WEIGHTS_DATA_MAX		(1u << 20)	/* bytes kept with a name or a descriptor */
#define SIDRA_OWNER_CALLER		(~0u)		/* the calling user, as owner of a name */

/**
 * struct sidra_ioctl_weights_create - allocate crossbars for a K x N matrix, without programming
 * them
 * @context: in, handle of the context
 * @encoding: in, enum sidra_encoding
 * @rows: in, K
 * @cols: in, N
 * @rights: in, SIDRA_WEIGHTS_* of this handle
 * @flags: in, zero
 * @index: out, index in the context's weights table, for packets
 * @xbars: inout, size of the array @xbar_ids if there is one, which must be the number of tiles
 *         (-EINVAL); then number of crossbars
 * @uid: out, identity of the object on this array
 * @xbar_ids: in, pointer to __u32[@xbars], the crossbar that each tile takes (tile by tile,
 *            row-major), or 0: the driver chooses
 * @xbar_stride: in, stride of that array; 0 without one
 * @pad: in, zero
 *
 * The object is anonymous: it is freed with its last handle. -ENOSPC: not enough free crossbars.
 * -EBUSY: a crossbar in @xbar_ids is in use, is there twice, or does not exist; another choice may
 * succeed.
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
	__u32 xbar_stride;
	__u32 pad;
};

/**
 * struct sidra_ioctl_weights_publish - give an object a name, so that it outlives its handles,
 * processes and the driver
 * @context: in, handle of the context
 * @index: in, index in the context's weights table; its handle must have SIDRA_WEIGHTS_PROGRAM
 *         (-EACCES)
 * @name: in, pointer to a NUL-terminated name of 1..SIDRA_WEIGHTS_NAME_MAX bytes; -EEXIST: the
 *        caller has used the name already
 * @data: in, pointer to data that is stored with it, such as per-column scales
 * @data_size: in, bytes at @data, up to SIDRA_WEIGHTS_DATA_MAX; 0: none
 * @mode: in, permission bits like those of a file (r: compute, w: program and read back)
 * @flags: in, zero
 * @hash: in, content hash of the caller's choice, or zero
 * @uuid: out, identity for users
 *
 * Every tile must be programmed (-ENODATA). The calling user, who need not be who opened the file,
 * owns the name, and it counts as theirs: each user has names of its own.
 */
struct sidra_ioctl_weights_publish {
	__u32 context;
	__u32 index;
	__u64 name;
	__u64 data;
	__u64 data_size;
	__u32 mode;
	__u32 flags;
	__u8  hash[32];
	__u8  uuid[16];
};

/**
 * struct sidra_ioctl_weights_open - open a named object
 * @context: in, handle of the context
 * @rights: in, SIDRA_WEIGHTS_*, which owner and mode must grant (-EACCES)
 * @name: in, pointer to the name, as in PUBLISH
 * @data: in, buffer for the data stored with it
 * @data_size: inout, its size in bytes (-ENOSPC: too small; returns the size needed)
 * @owner: in, user that owns the name, or SIDRA_OWNER_CALLER. -ENOENT: it has no such name that the
 *         caller may use
 * @flags: in, zero
 * @rows: out, K
 * @cols: out, N
 * @encoding: out, enum sidra_encoding
 * @xbars: out, number of crossbars
 * @index: out, index in the context's weights table, for packets
 * @pad: in, zero
 * @uid: out, identity of the object on this array
 */
struct sidra_ioctl_weights_open {
	__u32 context;
	__u32 rights;
	__u64 name;
	__u64 data;
	__u64 data_size;
	__u32 owner;
	__u32 flags;
	__u32 rows;
	__u32 cols;
	__u32 encoding;
	__u32 xbars;
	__u32 index;
	__u32 pad;
	__u64 uid;
};

#define SIDRA_UNLINK_EVICT		(1u << 0)

/**
 * struct sidra_ioctl_weights_unlink - remove a name; the object is freed with its last handle. For
 * the owner, or with CAP_SYS_ADMIN
 * @name: in, pointer to the name, as in PUBLISH
 * @flags: in; SIDRA_UNLINK_EVICT: fails with -EBUSY while handles exist, so on success the cells
 *         are erased
 * @owner: in, as in OPEN
 */
struct sidra_ioctl_weights_unlink {
	__u64 name;
	__u32 flags;
	__u32 owner;
};

/**
 * struct sidra_ioctl_weights - for DESTROY: drops a handle
 * @context: in, handle of the context
 * @index: in, index in the context's weights table
 * @flags: in, zero
 * @pad: in, zero
 */
struct sidra_ioctl_weights {
	__u32 context;
	__u32 index;
	__u32 flags;
	__u32 pad;
};

/**
 * struct sidra_ioctl_weights_share - create a file descriptor (CLOEXEC) from which others import
 * the object with @rights
 * @context: in, handle of the context
 * @index: in, index in the context's weights table
 * @rights: in, subset of the handle's rights (-EACCES)
 * @fd: out, the file descriptor; -1 on failure
 * @data: in, pointer to data that is kept with the descriptor, as in PUBLISH
 * @data_size: in, bytes at @data, up to SIDRA_WEIGHTS_DATA_MAX; 0: none
 * @flags: in, zero
 */
struct sidra_ioctl_weights_share {
	__u32 context;
	__u32 index;
	__u32 rights;
	__s32 fd;
	__u64 data;
	__u64 data_size;
	__u64 flags;
};

/**
 * struct sidra_ioctl_weights_import - create a handle from such a descriptor
 * @context: in, handle of the context
 * @fd: in, the file descriptor
 * @rights: out, rights that the descriptor grants
 * @rows: out, K
 * @cols: out, N
 * @encoding: out, enum sidra_encoding
 * @xbars: out, number of crossbars
 * @index: out, index in the context's weights table, for packets
 * @data: in, buffer for the data kept with the descriptor, as in OPEN
 * @data_size: inout, its size in bytes, as in OPEN
 * @uid: out, identity of the object on this array
 * @flags: in, zero
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
	__u64 flags;
};

/**
 * struct sidra_ioctl_weights_query - crossbars and programming progress of an object
 * @context: in, handle of the context
 * @index: in, index in the context's weights table
 * @xbar_ids: in, pointer to __u32[@xbars] to fill, or 0
 * @xbars: inout, size of that array (-ENOSPC: too small; returns the size needed), then number of
 *         crossbars
 * @xbar_stride: in, stride of that array; 0 without one
 * @flags: in, zero
 * @programmed_rows: out, number of tile rows that are programmed
 * @total_rows: out, number of all tile rows
 * @pad: in, zero
 */
struct sidra_ioctl_weights_query {
	__u32 context;
	__u32 index;
	__u64 xbar_ids;
	__u32 xbars;
	__u32 xbar_stride;
	__u32 flags;
	__u32 programmed_rows;
	__u32 total_rows;
	__u32 pad;
};

/**
 * struct sidra_weights_entry - a named object
 * @uid: identity on this array
 * @uuid: identity for users
 * @hash: content hash of its creator's choice
 * @owner: user that owns the name, or the overflow user id if the caller's user namespace does not
 *         know that user
 * @mode: permission bits
 * @rights: SIDRA_WEIGHTS_* that owner and mode grant to the caller
 * @rows: K
 * @cols: N
 * @encoding: enum sidra_encoding
 * @xbars: number of crossbars
 * @pad: zero
 * @data_size: bytes of data stored with it
 * @created_s: when the name was given, in seconds since 1970
 * @name: NUL-terminated
 */
struct sidra_weights_entry {
	__u64 uid;
	__u8  uuid[16];
	__u8  hash[32];
	__u32 owner;
	__u32 mode;
	__u32 rights;
	__u32 rows;
	__u32 cols;
	__u32 encoding;
	__u32 xbars;
	__u32 pad;
	__u64 data_size;
	__u64 created_s;
	char  name[64];
};

/**
 * struct sidra_ioctl_weights_list - list the named objects that the caller owns or may use; with
 * CAP_SYS_ADMIN all
 * @entries: in, pointer to struct sidra_weights_entry[@count] to fill
 * @count: inout, size of that array, at least 1; then number of entries. 0: there are no more
 * @stride: in, stride of that array
 * @cursor: inout, where to begin: 0, or as the call before has returned it
 * @flags: in, zero
 */
struct sidra_ioctl_weights_list {
	__u64 entries;
	__u32 count;
	__u32 stride;
	__u32 cursor;
	__u32 flags;
};

/**
 * enum sidra_cell_level - how cells are programmed
 * @SIDRA_CELLS_EXACT: exactly, without pulses or reads; the counters of these are zero
 * @SIDRA_CELLS_PULSED: by pulses, with a read after each
 */
enum sidra_cell_level {
	SIDRA_CELLS_EXACT	= 0,
	SIDRA_CELLS_PULSED	= 1
};

/* Maximum number of pulses for a cell in one programming. */
#define SIDRA_CELL_PULSES_MAX		64u

/**
 * struct sidra_weights_tile - programming effort, errors and drift of a tile since its crossbar was
 * erased
 * @programs: number of PROGRAM operations on the crossbar so far (wear)
 * @level: enum sidra_cell_level
 * @programmed_rows: number of rows that hold valid weights of the object
 * @stuck_cells: cells of the crossbar that are known to be stuck
 * @spare_columns: columns that were replaced by spare columns
 * @error_ppm: root mean square deviation of converged cells from their target after the last pulse,
 *             in millionths of G_max
 * @drift_ppm: loss of conductance since the last programming, in millionths of the conductance then
 * @bad_cells: cells in use that did not converge when they were pulsed last
 * @age_s: seconds since the last programming; counted faster at high temperature, like drift
 * @failed: cells that did not converge within SIDRA_CELL_PULSES_MAX pulses, nor in a second
 *          attempt; includes stuck cells
 * @recovered: cells that converged in a second attempt
 * @set_pulses: pulses that raised a conductance
 * @reset_pulses: pulses that lowered one
 * @reads: reads of cells
 * @device_ps: device time of programming (cost model), in picoseconds
 * @energy_pj: energy of programming (cost model), in picojoules
 * @clipped: sums of products that were clipped, because they exceeded the range of the ADCs
 * @adc_range: half of the range of the ADCs that SIDRA_CMD_MVM_CALIBRATE has set, in products of
 *             input and weight; 0: the range follows each product
 * @arrived: number of cells that converged, by number of pulses; cells that are programmed again
 *           count again
 *
 * For a tile that the object has not programmed, all is zero except @programs, @level and
 * @stuck_cells.
 */
struct sidra_weights_tile {
	__u32 programs;
	__u32 level;
	__u32 programmed_rows;
	__u32 stuck_cells;
	__u32 spare_columns;
	__u32 error_ppm;
	__u32 drift_ppm;
	__u32 bad_cells;
	__u64 age_s;
	__u64 failed;
	__u64 recovered;
	__u64 set_pulses;
	__u64 reset_pulses;
	__u64 reads;
	__u64 device_ps;
	__u64 energy_pj;
	__u64 clipped;
	__u64 adc_range;
	__u64 arrived[SIDRA_CELL_PULSES_MAX + 1];
};

/**
 * struct sidra_ioctl_weights_report - programming effort, errors and drift of one tile
 * @context: in, handle of the context
 * @index: in, index in the context's weights table
 * @tile: in, its number in the grid, row by row
 * @flags: in, zero
 * @report: in, pointer to struct sidra_weights_tile to fill
 * @size: inout, bytes at @report; as in DEVICE_QUERY
 * @pad: in, zero
 */
struct sidra_ioctl_weights_report {
	__u32 context;
	__u32 index;
	__u32 tile;
	__u32 flags;
	__u64 report;
	__u32 size;
	__u32 pad;
};

/* ---- io_uring (IORING_OP_URING_CMD on the same file) ----------------------------------------- */

/**
 * enum sidra_uring_op - values of sqe->cmd_op
 * @SIDRA_URING_SUBMIT: submits the sqe->len bytes of packets to a kernel queue, without SEM_* and
 *                      fences; completes with 0 when the last one has retired. With
 *                      IORING_URING_CMD_FIXED the packets are at sqe->addr, in the registered
 *                      buffer sqe->buf_index. Without it, it is one packet, in the 64 bytes behind
 *                      struct sidra_uring_cmd (needs IORING_SETUP_SQE128, otherwise -EINVAL). The
 *                      command's value is zero. -EBUSY: the ring is full
 * @SIDRA_URING_WAIT_VALUE: completes with 0 when the timeline of a queue of either kind has reached
 *                          the command's value of the epoch in sqe->len. -EIO: the queue stopped
 *                          before it; -ECANCELED: the point was dropped
 * @SIDRA_URING_CANCEL: completes all SUBMITs and WAIT_VALUEs that wait for the command's value with
 *                      -ECANCELED, without stopping their packets; returns how many there were, or
 *                      -ENOENT
 *
 * A result below 0 is -errno; with IORING_SETUP_CQE32 the second word of the result is the timeline
 * value.
 *
 * Parts of the SQE that a command does not use must be zero (-EINVAL). Waiting commands complete
 * with -ENOENT when their queue is destroyed, and with -ENODEV when the device is removed. Commands
 * on rings with IORING_SETUP_IOPOLL fail with -EOPNOTSUPP.
 */
enum sidra_uring_op {
	SIDRA_URING_SUBMIT	= 1,
	SIDRA_URING_WAIT_VALUE	= 2,
	SIDRA_URING_CANCEL	= 3
};

/**
 * struct sidra_uring_cmd - sqe->cmd
 * @context: handle of the queue's context
 * @queue: number of the queue in the context
 * @flags: zero
 * @value: timeline value
 */
struct sidra_uring_cmd {
	__u32 context;
	__u16 queue;
	__u16 flags;
	__u64 value;
};

/* ---- Numbers --------------------------------------------------------------------------------- */

/* DRM driver range: type 'd', 0x40 + n. The size is part of the number: see the rules above. */

#define SIDRA_IOCTL(n, type)		_IOWR('d', 0x40 + (n), type)

#define SIDRA_IOCTL_DEVICE_QUERY	SIDRA_IOCTL(0x00, struct sidra_ioctl_device_query)
#define SIDRA_IOCTL_DEVICE_RESET	SIDRA_IOCTL(0x02, struct sidra_ioctl_device_reset)
#define SIDRA_IOCTL_VM_CREATE		SIDRA_IOCTL(0x04, struct sidra_ioctl_vm_create)
#define SIDRA_IOCTL_VM_DESTROY		SIDRA_IOCTL(0x05, struct sidra_ioctl_vm)
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

/* ---- The contract, asserted ------------------------------------------------------------------ */

SIDRA_ASSERT_SIZE(struct sidra_ioctl_device_query, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_device_query, pad, 20);
SIDRA_ASSERT_SIZE(struct sidra_query_device, 80);
SIDRA_ASSERT_AT(struct sidra_query_device, uuid, 64);
SIDRA_ASSERT_SIZE(struct sidra_query_status, 32);
SIDRA_ASSERT_AT(struct sidra_query_status, l3_free, 24);
SIDRA_ASSERT_SIZE(struct sidra_query_clock, 24);
SIDRA_ASSERT_SIZE(struct sidra_query_limits, 64);
SIDRA_ASSERT_AT(struct sidra_query_limits, data_max, 56);
SIDRA_ASSERT_SIZE(struct sidra_query_refusal, 64);
SIDRA_ASSERT_AT(struct sidra_query_refusal, name, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_device_reset, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_vm_create, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_vm, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context_create, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_context_create, doorbell_offset, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_context_query, 88);
SIDRA_ASSERT_AT(struct sidra_ioctl_context_query, fault, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_create, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_buffer_create, mmap_offset, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_register, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_buffer_register, handle, 20);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_close, 8);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_bind, 40);
SIDRA_ASSERT_AT(struct sidra_ioctl_buffer_bind, reserved, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_buffer_unbind, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_create, 80);
SIDRA_ASSERT_AT(struct sidra_ioctl_queue_create, reserved, 64);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue, 16);
SIDRA_ASSERT_AT(struct sidra_ioctl_queue, pad, 12);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_reset, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_queue_reset, retired, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_queue_query, 128);
SIDRA_ASSERT_AT(struct sidra_ioctl_queue_query, submitted, 120);
SIDRA_ASSERT_SIZE(struct sidra_wait_item, 24);
SIDRA_ASSERT_AT(struct sidra_wait_item, pad, 20);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_wait, 32);
SIDRA_ASSERT_AT(struct sidra_ioctl_wait, deadline, 24);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_arm, 32);
SIDRA_ASSERT_AT(struct sidra_ioctl_arm, pad, 28);
SIDRA_ASSERT_SIZE(struct sidra_syncobj_point, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_submit, 104);
SIDRA_ASSERT_AT(struct sidra_ioctl_submit, reserved, 88);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_create, 56);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_create, pad, 52);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_publish, 88);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_publish, uuid, 72);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_open, 72);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_open, uid, 64);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_unlink, 16);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights, 16);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights, pad, 12);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_share, 40);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_share, flags, 32);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_import, 64);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_import, flags, 56);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_query, 40);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_query, pad, 36);
SIDRA_ASSERT_SIZE(struct sidra_weights_entry, 168);
SIDRA_ASSERT_AT(struct sidra_weights_entry, name, 104);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_list, 24);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_list, flags, 20);
SIDRA_ASSERT_SIZE(struct sidra_weights_tile, 632);
SIDRA_ASSERT_AT(struct sidra_weights_tile, arrived, 112);
SIDRA_ASSERT_SIZE(struct sidra_ioctl_weights_report, 32);
SIDRA_ASSERT_AT(struct sidra_ioctl_weights_report, pad, 28);
SIDRA_ASSERT_SIZE(struct sidra_uring_cmd, 16);
SIDRA_ASSERT_AT(struct sidra_uring_cmd, value, 8);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_ACCEL_H */
