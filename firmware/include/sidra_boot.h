/* SPDX-License-Identifier: MIT */
/*
 * What the boot ROM and the images that it starts have in common: where things lie in RAM, what an image is told, and the boot record, in
 * which they leave word for each other over resets and power-off.
 */
#ifndef SIDRA_BOOT_H
#define SIDRA_BOOT_H

#include "sidra_management.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- RAM ------------------------------------------------------------------------------------------------------- */

/* An image is read to where its payload goes, with its header in front: the first address that a payload may have. */
#define SIDRA_BOOT_RAM_BEGIN		(SIDRA_MGMT_RAM + 256u)
/* The ROM's own, up to the end of RAM: its data and stack, and what it tells the image. */
#define SIDRA_BOOT_RAM_END		(SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 0x2000u)
#define SIDRA_BOOT_INFO			(SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 0x40u)
/* In there, and the ROM keeps off it: what the last image that panicked left. */
#define SIDRA_BOOT_DUMP			(SIDRA_BOOT_RAM_END + 0x400u)
/* As well: what the firmware was doing in the background (struct sidra_kept_operation[2]). */
#define SIDRA_BOOT_OPERATIONS		(SIDRA_BOOT_RAM_END + 0xa00u)

/* From the ROM's first instructions until an image starts a watchdog of its own, or stops the ROM's: many times what the slowest start takes. */
#define SIDRA_BOOT_GRACE_MS		1000u

#define SIDRA_BOOT_INFO_MAGIC		0x49424453u	/* "SDBI" */

/**
 * struct sidra_boot_info - at SIDRA_BOOT_INFO when an image starts; a0 points to it
 * @magic:   SIDRA_BOOT_INFO_MAGIC
 * @size:    of this struct; it only grows
 * @slot:    SIDRA_MGMT_SLOT_*, where the image was
 * @trial:   1: not confirmed yet; unless it confirms itself the other slot is next
 * @reason:  enum sidra_boot_reason
 * @version: of the image; @security_version: as well
 * @result:  enum sidra_image_result of each slot that was looked at before, 0 for others
 * @build_id: of the image, as its header has it
 */
struct sidra_boot_info {
	uint32_t magic;
	uint32_t size;
	uint32_t slot;
	uint32_t trial;
	uint32_t reason;
	uint32_t version;
	uint32_t security_version;
	uint32_t result[3];
	uint8_t  build_id[20];
	uint32_t reserved;
};

/* Panic codes: what happened | a detail below 0x10000. */
#define SIDRA_PANIC_TRAP		0x00010000u	/* an exception in the image; mcause */
#define SIDRA_PANIC_SELF_TEST		0x00020000u	/* which of them */
#define SIDRA_PANIC_ROM			0xb0000000u	/* a trap in the ROM; mcause */

#define SIDRA_BOOT_DUMP_MAGIC		0x44464453u	/* "SDFD" */
#define SIDRA_BOOT_DUMP_LOG		1024u

/**
 * struct sidra_boot_dump - at SIDRA_BOOT_DUMP after a panic; survives resets, but not power-off
 * @magic:   SIDRA_BOOT_DUMP_MAGIC; anything else: there is none
 * @size:    of this struct; it only grows
 * @code:    as in SIDRA_REG_PANIC
 * @version: of the image
 * @cycles:  when, by the timer
 * @x:       registers; x[0] is 0
 * @pc, @mcause, @mtval, @mstatus: where and why
 * @log_bytes: of @log that mean something
 * @log:     the end of the log, the oldest byte first
 * @crc32:   of what is above
 */
struct sidra_boot_dump {
	uint32_t magic;
	uint32_t size;
	uint32_t code;
	uint32_t version;
	uint64_t cycles;
	uint32_t x[32];
	uint32_t pc;
	uint32_t mcause;
	uint32_t mtval;
	uint32_t mstatus;
	uint32_t log_bytes;
	char     log[SIDRA_BOOT_DUMP_LOG];
	uint32_t crc32;
};

/* ---- Boot record ------------------------------------------------------------------------------------------------- */

#define SIDRA_BOOT_RECORD_MAGIC		0x52424453u	/* "SDBR" */
#define SIDRA_BOOT_NO_SLOT		0xffffffffu
#define SIDRA_BOOT_ATTEMPTS		3u		/* starts without a sign of life before the other slot's turn */

/**
 * struct sidra_boot_record - the newest whole one of the flash's record sectors counts
 * @magic:    SIDRA_BOOT_RECORD_MAGIC
 * @sequence: one more than that before
 * @active:   slot that was confirmed last
 * @trial:    slot to be tried, or SIDRA_BOOT_NO_SLOT
 * @tried:    starts of the trial; if it is still here when the watchdog or a panic ended the last one, or after SIDRA_BOOT_ATTEMPTS, it has failed
 * @attempts: starts of @active since it said last that it is well
 * @failed:   1 + the slot whose trial failed, until there is another trial; 0: none
 * @reserved: 0
 * @crc32:    of what is above
 *
 * Records follow each other in a sector; a full one is followed by the other, erased. A record that was cut off by power-off
 * has a wrong CRC, and the one before counts.
 */
struct sidra_boot_record {
	uint32_t magic;
	uint32_t sequence;
	uint32_t active;
	uint32_t trial;
	uint32_t tried;
	uint32_t attempts;
	uint32_t failed;
	uint32_t reserved[8];
	uint32_t crc32;
};

#ifdef __cplusplus
static_assert(sizeof(struct sidra_boot_info) == 64, "part of the contract");
static_assert(sizeof(struct sidra_boot_record) == 64, "part of the contract");
static_assert(sizeof(struct sidra_boot_dump) == 24 + 32 * 4 + 20 + SIDRA_BOOT_DUMP_LOG + 4, "part of the contract");
#else
_Static_assert(sizeof(struct sidra_boot_info) == 64, "part of the contract");
_Static_assert(sizeof(struct sidra_boot_record) == 64, "part of the contract");
_Static_assert(sizeof(struct sidra_boot_dump) == 24 + 32 * 4 + 20 + SIDRA_BOOT_DUMP_LOG + 4, "part of the contract");
#endif

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_BOOT_H */
