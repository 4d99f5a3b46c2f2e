/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * How an embedded chip, a model inside a process, publishes its state to monitors: one file per
 * chip, which any process of the same user can map and read. libsidra writes it, libsidra-smi reads
 * it.
 *
 * The file is FOLDER/PID-N; N counts the chips of the process from 0. FOLDER is
 * $XDG_RUNTIME_DIR/sidra; without that variable it is /run/user/UID/sidra, or /tmp/sidra-UID if
 * /run/user/UID does not exist. Its mode must be 0700 and its owner UID; otherwise nothing is
 * published.
 *
 * While the chip exists, its process holds a write lock (fcntl, F_SETLK) on the first byte of the
 * file; F_GETLK returns the process that holds it. A file without that lock remains of a process
 * that was killed: readers ignore it, and the next writer removes it. (Closing a file releases all
 * locks that the process has on it. The writer takes the lock again with each update, in case its
 * own process reads the file.) A file whose name begins with a dot is not complete yet.
 *
 * The file has its full length of @size bytes from the moment it has its name. All but @sequence is
 * a consistent snapshot, by a sequence lock: the writer makes @sequence odd, changes the file, and
 * makes it even again. A reader copies the file, and repeats that if @sequence was odd or has
 * changed. A reader checks everything that it uses, and gives up after some attempts.
 */
#ifndef SIDRA_PUBLISH_H
#define SIDRA_PUBLISH_H

#include "sidra_monitor.h"

#define SIDRA_PUBLISH_MAGIC	0x42504453u	/* "SDPB" */
#define SIDRA_PUBLISH_VERSION	1u		/* with another, nothing after @size is valid */

/**
 * struct sidra_publish - header of such a file
 * @magic: SIDRA_PUBLISH_MAGIC
 * @version: SIDRA_PUBLISH_VERSION
 * @header_size: size of this struct in bytes
 * @size: size of the file in bytes
 * @sequence: sequence lock, see above
 * @updated_ns: CLOCK_MONOTONIC at the latest update, in nanoseconds. The writer updates about ten
 *              times a second while work is in progress, a tenth of a second after it has ended,
 *              and twice a second otherwise
 * @pid: number of the process, in its own name space
 * @uid: effective user id of the process, in its own name space
 * @started_ns: CLOCK_MONOTONIC when the chip was created, in nanoseconds
 * @index: N of the file name
 * @reserved0: zero
 * @comm: name of the process, NUL-terminated
 * @uuid: identity of the chip, the register UUID
 * @features: SIDRA_FEATURE_*, the register FEATURES
 * @hw_version: version of the hardware contract, major << 16 | minor, the register HW_VERSION
 * @driver_version: version of libsidra, major << 16 | minor
 * @firmware_version: in the format of struct sidra_fw_header; 0: no firmware
 * @clusters: clusters of the chip
 * @cus_per_cluster: compute units of a cluster
 * @xbars_per_cu: crossbars of a compute unit
 * @l3_size: bytes of L3 memory
 * @l3_used: bytes of L3 memory that are allocated
 * @nvm_size: bytes of the weights directory's memory
 * @memory: bytes of the process's memory that the chip may access
 * @level: 0: fast, 1: accurate
 * @persistent: 1: cells and names are in a state file, otherwise 0
 * @contexts: number of contexts in the process
 * @queues: number of queues in the process
 * @buffers: number of buffers in the process
 * @xbar_count: number of crossbars
 * @telemetry: offset of struct sidra_telemetry in the file
 * @xbars: offset of struct sidra_hw_xbar[@xbar_count] in the file, as XBAR_READ returns them;
 *         updated after changes, at most once a second
 * @before: offset of the struct sidra_telemetry before the one at @telemetry, from which a single
 *          read can compute rates; 0: none
 * @reserved1: zero
 */
struct sidra_publish {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size;
	uint64_t sequence;
	uint64_t updated_ns;
	uint32_t pid;
	uint32_t uid;
	uint64_t started_ns;
	uint32_t index;
	uint32_t reserved0;
	char     comm[16];
	uint8_t  uuid[16];
	uint64_t features;
	uint32_t hw_version;
	uint32_t driver_version;
	uint32_t firmware_version;
	uint32_t clusters;
	uint32_t cus_per_cluster;
	uint32_t xbars_per_cu;
	uint64_t l3_size;
	uint64_t l3_used;
	uint64_t nvm_size;
	uint64_t memory;
	uint32_t level;
	uint32_t persistent;
	uint32_t contexts;
	uint32_t queues;
	uint32_t buffers;
	uint32_t xbar_count;
	uint64_t telemetry;
	uint64_t xbars;
	uint64_t before;
	uint64_t reserved1[7];
};

SIDRA_ASSERT_SIZE(struct sidra_publish, 256);
SIDRA_ASSERT_AT(struct sidra_publish, uuid, 72);
SIDRA_ASSERT_AT(struct sidra_publish, telemetry, 176);
SIDRA_ASSERT_AT(struct sidra_publish, before, 192);

#endif
