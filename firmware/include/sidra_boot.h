/* SPDX-License-Identifier: MIT */
/*
 * The interface between the boot ROM and the images that it starts: memory layout, information for images, and the boot record,
 * which passes information between them over resets and power-off.
 */
#ifndef SIDRA_BOOT_H
#define SIDRA_BOOT_H

#include "sidra_management.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- RAM ------------------------------------------------------------------------------------------------------- */

/* The first address for a payload. An image is read with its header in front of the payload. */
#define SIDRA_BOOT_RAM_BEGIN		(SIDRA_MGMT_RAM + 256u)
/* End of the RAM for images. The rest is the ROM's: its data and stack, and the information for the image. */
#define SIDRA_BOOT_RAM_END		(SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 0x2000u)
#define SIDRA_BOOT_INFO			(SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 0x40u)
/* In that area, but not used by the ROM: the dump of the last image that panicked. */
#define SIDRA_BOOT_DUMP			(SIDRA_BOOT_RAM_END + 0x400u)
/* Also there: background operations of the firmware (struct sidra_kept_operation[2]). */
#define SIDRA_BOOT_OPERATIONS		(SIDRA_BOOT_RAM_END + 0xa00u)

/*
 * Watchdog period from the ROM's first instructions until an image starts its own watchdog or stops this one. Much longer than
 * the slowest boot.
 */
#define SIDRA_BOOT_GRACE_MS		1000u

#define SIDRA_BOOT_INFO_MAGIC		0x49424453u	/* "SDBI" */

/**
 * struct sidra_boot_info - at SIDRA_BOOT_INFO when an image starts; a0 points to it
 * @magic:   SIDRA_BOOT_INFO_MAGIC
 * @size:    size of this struct; it may only grow
 * @slot:    SIDRA_MGMT_SLOT_* of the image
 * @trial:   1: on trial; if the image does not confirm itself, the ROM returns to the other slot
 * @reason:  enum sidra_boot_reason
 * @version, @security_version: of the image
 * @result:  enum sidra_image_result of each slot that was checked before; 0 for others
 * @build_id: from the header of the image
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

/* Panic codes: cause | detail below 0x10000. */
#define SIDRA_PANIC_TRAP		0x00010000u	/* an exception in the image; mcause */
#define SIDRA_PANIC_SELF_TEST		0x00020000u	/* number of the failed test */
#define SIDRA_PANIC_ROM			0xb0000000u	/* a trap in the ROM; mcause */

#define SIDRA_BOOT_DUMP_MAGIC		0x44464453u	/* "SDFD" */
#define SIDRA_BOOT_DUMP_LOG		1024u

/**
 * struct sidra_boot_dump - at SIDRA_BOOT_DUMP after a panic; survives resets, but not power-off
 * @magic:   SIDRA_BOOT_DUMP_MAGIC; any other value: no dump
 * @size:    size of this struct; it may only grow
 * @code:    panic code, as in SIDRA_REG_PANIC
 * @version: of the image
 * @cycles:  time of the panic, in cycles of the timer
 * @x:       registers; x[0] is 0
 * @pc, @mcause, @mtval, @mstatus: CSRs of the trap
 * @log_bytes: number of valid bytes in @log
 * @log:     the end of the log, the oldest byte first
 * @crc32:   of all fields above
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
#define SIDRA_BOOT_ATTEMPTS		3u		/* starts without a confirmation before the ROM changes to the other
							   slot */

/**
 * struct sidra_boot_record - the newest valid record in the flash's record sectors is current
 * @magic:    SIDRA_BOOT_RECORD_MAGIC
 * @sequence: one more than in the previous record
 * @active:   slot that was confirmed last
 * @trial:    slot to be tried, or SIDRA_BOOT_NO_SLOT
 * @tried:    number of starts of the trial. The trial has failed if its last start ended with a watchdog reset or a panic, or after
 *            SIDRA_BOOT_ATTEMPTS starts
 * @attempts: number of starts of @active since its last confirmation
 * @failed:   1 + the slot whose trial has failed, until the next trial; 0: none
 * @reserved: 0
 * @crc32:    of all fields above
 *
 * Records are appended to a sector; when it is full, the other sector is erased and used next. A power-off during a write leaves a
 * wrong CRC; then the previous record is current.
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
