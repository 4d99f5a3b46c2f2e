/* SPDX-License-Identifier: MIT */
#include "boot/record.h"

#include "drivers/flash.h"
#include "image/bytes.h"
#include "image/crc32.h"

#define SIZE ((uint32_t)sizeof(struct sidra_boot_record))
#define SECTOR SIDRA_MGMT_FLASH_SECTOR
#define END (SIDRA_MGMT_FLASH_RECORD + SIDRA_MGMT_FLASH_RECORDS * SECTOR)

static uint32_t crc_of(const struct sidra_boot_record *record)
{
	return sidra_image_crc32(0, (const uint8_t *)record, offsetof(struct sidra_boot_record, crc32));
}

static int whole(const struct sidra_boot_record *record)
{
	return record->magic == SIDRA_BOOT_RECORD_MAGIC && record->crc32 == crc_of(record) && record->active <= SIDRA_MGMT_SLOT_B &&
	       (record->trial <= SIDRA_MGMT_SLOT_B || record->trial == SIDRA_BOOT_NO_SLOT) && record->failed <= SIDRA_MGMT_SLOT_B + 1;
}

void record_read(struct sidra_boot_record *record, struct record_place *place)
{
	struct sidra_boot_record one;

	*record = (struct sidra_boot_record){ .active = SIDRA_MGMT_SLOT_A, .trial = SIDRA_BOOT_NO_SLOT };
	place->offset = SIDRA_BOOT_NO_SLOT;
	for (uint32_t offset = SIDRA_MGMT_FLASH_RECORD; offset < END; offset += SIZE) {
		if (flash_read(offset, &one, SIZE) || !whole(&one))
			continue;
		/* Compare by difference, because the number may wrap. */
		if (place->offset != SIDRA_BOOT_NO_SLOT && (int32_t)(one.sequence - record->sequence) < 0)
			continue;
		*record = one;
		place->offset = offset;
	}
}

/* Whether this range of flash is erased; `bytes`: a multiple of the record size. */
static int erased(uint32_t offset, uint32_t bytes)
{
	uint8_t some[sizeof(struct sidra_boot_record)];

	for (uint32_t end = offset + bytes; offset < end; offset += SIZE) {
		if (flash_read(offset, some, SIZE))
			return 0;
		for (uint32_t i = 0; i < SIZE; i++)
			if (some[i] != 0xff)
				return 0;
	}
	return 1;
}

uint32_t record_write(struct sidra_boot_record *record, struct record_place *place)
{
	uint32_t offset = place->offset == SIDRA_BOOT_NO_SLOT ? SIDRA_MGMT_FLASH_RECORD : place->offset + SIZE;
	uint32_t result;

	record->magic = SIDRA_BOOT_RECORD_MAGIC;
	record->sequence++;
	record->crc32 = crc_of(record);
	/* Skip remains of writes that a power-off interrupted. */
	while (offset % SECTOR && !erased(offset, SIZE))
		offset += SIZE;
	if (offset % SECTOR == 0) {
		/* Continue in the next sector, which never contains the current record. */
		if (offset == END)
			offset = SIDRA_MGMT_FLASH_RECORD;
		/* Erasing takes much longer than everything else here. */
		result = erased(offset, SECTOR) ? 0 : flash_erase(offset);
		if (result)
			return result;
	}
	result = flash_program(offset, record, SIZE);
	if (!result)
		place->offset = offset;
	return result;
}

uint32_t record_prepare(void)
{
	struct sidra_boot_record record;
	struct record_place place;
	uint32_t next;

	record_read(&record, &place);
	if (place.offset == SIDRA_BOOT_NO_SLOT)
		return 0;
	next = place.offset / SECTOR * SECTOR + SECTOR;
	if (next == END)
		next = SIDRA_MGMT_FLASH_RECORD;
	return erased(next, SECTOR) ? 0 : flash_erase(next);
}
