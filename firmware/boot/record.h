/* SPDX-License-Identifier: MIT */
/* Reads and writes the boot record (sidra_boot.h) in flash, for the ROM and for images. */
#ifndef SIDRA_FIRMWARE_RECORD_H
#define SIDRA_FIRMWARE_RECORD_H

#include "sidra_boot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Offset of the newest record. SIDRA_BOOT_NO_SLOT: there is none, and `record` has the initial values. */
struct record_place {
	uint32_t offset;
};

void record_read(struct sidra_boot_record *record, struct record_place *place);
/*
 * Makes `record` the newest one: sets magic, sequence and CRC. Returns 0, or an enum sidra_mgmt_result; then the previous record
 * stays valid.
 */
uint32_t record_write(struct sidra_boot_record *record, struct record_place *place);
/*
 * Erases the sector after that of the newest record, so that no boot has to wait for it. It contains no valid record. Returns as
 * record_write().
 */
uint32_t record_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
