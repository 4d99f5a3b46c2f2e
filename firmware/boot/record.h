/* SPDX-License-Identifier: MIT */
/* The boot record (sidra_boot.h), read and written by the ROM and by images; over drivers/flash.h. */
#ifndef SIDRA_FIRMWARE_RECORD_H
#define SIDRA_FIRMWARE_RECORD_H

#include "sidra_boot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the newest one lies; offset SIDRA_BOOT_NO_SLOT: there is none, and `record` is what a chip begins with. */
struct record_place {
	uint32_t offset;
};

void record_read(struct sidra_boot_record *record, struct record_place *place);
/* Makes `record` the newest one: sets magic, sequence and CRC. 0, or an enum sidra_mgmt_result: then the one before still counts. */
uint32_t record_write(struct sidra_boot_record *record, struct record_place *place);
/* Erases the sector that comes after that of the newest one, where nothing counts: so that no start has to wait for it. As record_write(). */
uint32_t record_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
