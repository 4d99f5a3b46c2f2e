/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * How an embedded chip, a model inside a process, publishes its state to monitors: one file per chip, which any process of the same user can
 * map and read. libsidra writes it, libsidra-smi reads it.
 *
 * The file is FOLDER/PID-N; N counts the chips of the process from 0. FOLDER is $XDG_RUNTIME_DIR/sidra; without that variable it is
 * /run/user/UID/sidra, or /tmp/sidra-UID if /run/user/UID does not exist. Its mode must be 0700 and its owner UID; otherwise nothing is
 * published.
 *
 * While the chip exists, its process holds a write lock (fcntl, F_SETLK) on the first byte of the file; F_GETLK returns the process that
 * holds it. A file without that lock remains of a process that was killed: readers ignore it, and the next writer removes it. (Closing a
 * file releases all locks that the process has on it. The writer takes the lock again with each update, in case its own process reads the
 * file.) A file whose name begins with a dot is not complete yet.
 *
 * The file has its full length of @size bytes from the moment it has its name. All but @sequence is a consistent snapshot, by a sequence
 * lock: the writer makes @sequence odd, changes the file, and makes it even again. A reader copies the file, and repeats that if @sequence
 * was odd or has changed. A reader checks everything that it uses, and gives up after some attempts.
 */
#ifndef SIDRA_PUBLISH_H
#define SIDRA_PUBLISH_H

#include "sidra_monitor.h"

#define SIDRA_PUBLISH_MAGIC	0x42504453u	/* "SDPB" */
#define SIDRA_PUBLISH_VERSION	1u		/* with any other version, nothing after @size is valid */

/**
 * struct sidra_publish - header of such a file
 * @magic, @version, @header_size: SIDRA_PUBLISH_MAGIC, SIDRA_PUBLISH_VERSION, sizeof
 * @size:     size of the file in bytes
 * @sequence: sequence lock, see above
 * @updated_ns: CLOCK_MONOTONIC at the latest update. The writer updates about ten times a second while work is in progress, a tenth of a
 *              second after it has ended, and twice a second otherwise
 * @pid, @uid: of the process, in its own name space
 * @index:    N of the file name
 * @started_ns: CLOCK_MONOTONIC when the chip was created
 * @comm:     name of the process, NUL-terminated
 * @uuid, @hw_version, @features: the registers of these names
 * @driver_version: version of libsidra, major << 16 | minor
 * @firmware_version: in the format of struct sidra_fw_header; 0: no firmware
 * @clusters, @cus_per_cluster, @xbars_per_cu: geometry
 * @l3_size, @l3_used, @nvm_size: bytes
 * @memory:   bytes of the process's memory that the chip may access
 * @level:    0: fast, 1: accurate
 * @persistent: 1: cells and names are in a state file
 * @contexts, @queues, @buffers: numbers of these objects in the process
 * @telemetry: offset of struct sidra_telemetry
 * @xbars:     offset of struct sidra_hw_xbar[@xbar_count], as XBAR_READ returns them; updated after changes, at most once a second
 * @xbar_count: number of crossbars
 * @before:    offset of the struct sidra_telemetry before the one at @telemetry, from which a single read can compute rates; 0: none
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
