/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * What a chip that lives in a process (the embedded model) shows to monitors: one file a chip, which any process of the same user
 * can map and read. Writer: libsidra. Reader: libsidra-smi.
 *
 * Where: FOLDER/PID-N, N counting the chips of that process from 0. FOLDER is $XDG_RUNTIME_DIR/sidra, without that variable
 * /run/user/UID/sidra, and where /run/user/UID does not exist /tmp/sidra-UID: mode 0700, owner UID, else nothing is published.
 *
 * As long as the chip is there its process holds a write lock (fcntl, F_SETLK) of the file's first byte, which F_GETLK tells of with the
 * process that holds it. A file without that lock is left over from a process that was killed: nobody lists it, and the next writer
 * removes it. (To close a file takes a process all its locks of it: who reads those of its own process finds them locked again with the next
 * update.) A name with a dot in front is a file that is just being made.
 *
 * The file is @size bytes long from the moment it has its name. All but @sequence is as it was last at one time: a writer makes @sequence odd,
 * changes what it changes, and makes it even again; a reader copies, and copies again if @sequence was odd or is another
 * afterwards. A reader trusts nothing in it, and gives up after some tries.
 */
#ifndef SIDRA_PUBLISH_H
#define SIDRA_PUBLISH_H

#include "sidra_hw.h"

#define SIDRA_PUBLISH_MAGIC	0x42504453u	/* "SDPB" */
#define SIDRA_PUBLISH_VERSION	1u		/* another one: nothing behind @size can be relied on */

/**
 * struct sidra_publish - first bytes of such a file
 * @magic, @version, @header_size: SIDRA_PUBLISH_MAGIC, SIDRA_PUBLISH_VERSION, sizeof
 * @size:     of the file
 * @sequence: see above
 * @updated_ns: CLOCK_MONOTONIC when this was written: some ten times a second as long as anybody's work goes on, a tenth of a second after it has ended, and
 *              twice a second else
 * @pid, @uid: of the process, in the name space where it runs
 * @index:    N of the file's name
 * @started_ns: CLOCK_MONOTONIC when the chip was made
 * @comm:     name of the process, ends with NUL
 * @uuid, @hw_version, @features: the registers of these names
 * @driver_version: of libsidra, major << 16 | minor
 * @firmware_version: as struct sidra_fw_header has it, 0 none
 * @clusters, @cus_per_cluster, @xbars_per_cu: geometry
 * @l3_size, @l3_used, @nvm_size: bytes
 * @memory:   bytes of the process that the chip may reach
 * @level:    0 fast, 1 accurate
 * @persistent: 1: cells and names are in a state file
 * @contexts, @queues, @buffers: of the process
 * @telemetry: offset of struct sidra_telemetry
 * @xbars:     offset of struct sidra_hw_xbar[@xbar_count], as XBAR_READ has them; written when they have changed, and at most once a second
 * @xbar_count: crossbars
 * @before:    offset of the struct sidra_telemetry that was at @telemetry before this one, for who reads once and wants rates; 0: none
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
