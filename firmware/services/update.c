/* SPDX-License-Identifier: MIT */
#include "services/update.h"

#include "boot/policy.h"
#include "boot/record.h"
#include "core/log.h"
#include "core/runtime.h"
#include "drivers/copy.h"
#include "drivers/flash.h"
#include "drivers/registers.h"
#include "drivers/verify.h"
#include "sidra_hw.h"

#define SECTOR SIDRA_MGMT_FLASH_SECTOR

static uint8_t buffer[SECTOR];

static struct {
	uint32_t slot;	/* slot being written, or SIDRA_BOOT_NO_SLOT */
	uint32_t bytes; /* announced size */
	uint32_t done;
} transfer = { .slot = SIDRA_BOOT_NO_SLOT };

static uint32_t target(void)
{
	return runtime_boot()->slot == SIDRA_MGMT_SLOT_A ? SIDRA_MGMT_SLOT_B : SIDRA_MGMT_SLOT_A;
}

uint32_t update_begin(uint64_t bytes, uint32_t *slot)
{
	struct sidra_boot_record record;
	struct record_place place;

	if (bytes < SIDRA_FW_HEADER_SIZE || bytes > SIDRA_MGMT_FLASH_SLOT_SIZE)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	*slot = target();
	record_read(&record, &place);
	/* The other slot has the image to fall back to. */
	if (record.trial == runtime_boot()->slot)
		return SIDRA_MAILBOX_BUSY;
	/* Cancel a pending trial before overwriting its image. */
	if (record.trial == *slot) {
		record.trial = SIDRA_BOOT_NO_SLOT;
		record.tried = 0;
		if (record_write(&record, &place))
			return SIDRA_MAILBOX_INTERNAL;
	}
	transfer.slot = *slot;
	transfer.bytes = (uint32_t)bytes;
	transfer.done = 0;
	log_number("update: started, bytes", transfer.bytes);
	return SIDRA_MAILBOX_OK;
}

/* Writes within one sector, which is erased before its first byte. */
static uint32_t store(uint32_t offset, uint64_t bus, uint32_t bytes)
{
	const uint32_t at = SIDRA_MGMT_FLASH_SLOT(transfer.slot) + offset;
	const uint32_t refused = copy_from_host(buffer, bus, bytes);

	if (refused)
		return refused == SIDRA_MGMT_BUS_ERROR ? SIDRA_MAILBOX_BAD_ARGUMENT : SIDRA_MAILBOX_INTERNAL;
	if (offset % SECTOR == 0 && flash_erase(at))
		return SIDRA_MAILBOX_INTERNAL;
	return flash_program(at, buffer, bytes) ? SIDRA_MAILBOX_INTERNAL : SIDRA_MAILBOX_OK;
}

uint32_t update_data(uint64_t offset, uint64_t bus, uint32_t bytes)
{
	if (transfer.slot == SIDRA_BOOT_NO_SLOT || offset != transfer.done)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	if (bytes == 0 || bytes > UPDATE_DATA_MAX || bytes > transfer.bytes - transfer.done)
		return SIDRA_MAILBOX_BAD_LENGTH;
	while (bytes) {
		const uint32_t left = SECTOR - transfer.done % SECTOR;
		const uint32_t some = bytes < left ? bytes : left;
		const uint32_t status = store(transfer.done, bus, some);

		if (status != SIDRA_MAILBOX_OK) {
			/* Unknown how much was written: restart from the beginning. */
			transfer.slot = SIDRA_BOOT_NO_SLOT;
			return status;
		}
		transfer.done += some;
		bus += some;
		bytes -= some;
	}
	return SIDRA_MAILBOX_OK;
}

static int sha256_of_slot(void *self, const void *data, size_t size, uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE])
{
	uint32_t offset = *(const uint32_t *)self;

	(void)data;
	if (sha256_begin())
		return -1;
	while (size) {
		const uint32_t some = size < sizeof(buffer) ? (uint32_t)size : (uint32_t)sizeof(buffer);

		if (flash_read(offset, buffer, some) || sha256_add(buffer, some))
			return -1;
		offset += some;
		size -= some;
	}
	return sha256_end(digest) ? -1 : 0;
}

/* The checks of sidra_image_verify(), in the same order, for an image that is too large to read into RAM. */
static enum sidra_image_result verify_slot(uint32_t slot, uint32_t bytes)
{
	static uint8_t tlvs[SIDRA_IMAGE_TLV_SIZE_MAX];
	static struct sidra_image image;
	uint32_t offset = SIDRA_MGMT_FLASH_SLOT(slot);
	const struct sidra_image_crypto of_slot = { &offset, sha256_of_slot, verify_block.ed25519 };
	uint8_t header[SIDRA_FW_HEADER_SIZE];
	struct sidra_image_policy policy;
	enum sidra_image_result result;

	boot_policy(SIDRA_FW_RUNTIME, &policy);
	if (flash_read(offset, header, sizeof(header)))
		return SIDRA_IMAGE_TOO_SHORT;
	result = sidra_image_check_header(header, bytes, &image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_fit(&image, &policy);
	if (result != SIDRA_IMAGE_OK)
		return result;
	/* check_header() assumed that the TLVs are in memory. */
	image.tlvs = tlvs;
	if (image.header.tlv_size && flash_read(offset + SIDRA_FW_HEADER_SIZE + image.header.image_size, tlvs, image.header.tlv_size))
		return SIDRA_IMAGE_TRUNCATED;
	result = sidra_image_check_tlvs(&image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_digest(header, &of_slot, &image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_signature(&policy, &verify_block, &image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_rollback(&image, &policy);
	return result;
}

/* Takes the size from the image's header, because the size of the transfer is not stored. */
static enum sidra_image_result size_in_slot(uint32_t slot, uint64_t *bytes)
{
	uint8_t header[SIDRA_FW_HEADER_SIZE];
	enum sidra_image_result result;

	if (flash_read(SIDRA_MGMT_FLASH_SLOT(slot), header, sizeof(header)))
		return SIDRA_IMAGE_TOO_SHORT;
	result = sidra_image_total(header, sizeof(header), bytes);
	return result == SIDRA_IMAGE_OK && *bytes > SIDRA_MGMT_FLASH_SLOT_SIZE ? SIDRA_IMAGE_TRUNCATED : result;
}

static uint32_t try_next(uint32_t slot)
{
	struct sidra_boot_record record;
	struct record_place place;

	record_read(&record, &place);
	if (record.trial == slot && !record.tried)
		return SIDRA_MAILBOX_OK;
	record.trial = slot;
	record.tried = 0;
	record.failed = 0;
	return record_write(&record, &place) ? SIDRA_MAILBOX_INTERNAL : SIDRA_MAILBOX_OK;
}

uint32_t update_commit(int tried, uint32_t *result)
{
	const uint32_t slot = transfer.slot;

	*result = SIDRA_IMAGE_TRUNCATED;
	if (slot == SIDRA_BOOT_NO_SLOT || transfer.done != transfer.bytes)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	transfer.slot = SIDRA_BOOT_NO_SLOT;
	*result = verify_slot(slot, transfer.bytes);
	log_number("update: verified, result", *result);
	if (*result != SIDRA_IMAGE_OK)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	return tried ? try_next(slot) : SIDRA_MAILBOX_OK;
}

uint32_t update_activate(uint32_t *slot, uint32_t *result)
{
	uint64_t bytes;

	if (transfer.slot != SIDRA_BOOT_NO_SLOT)
		return SIDRA_MAILBOX_BUSY;
	*slot = target();
	*result = size_in_slot(*slot, &bytes);
	if (*result == SIDRA_IMAGE_OK)
		*result = verify_slot(*slot, (uint32_t)bytes);
	log_number("update: verified for activation, result", *result);
	return *result == SIDRA_IMAGE_OK ? try_next(*slot) : SIDRA_MAILBOX_BAD_ARGUMENT;
}

uint32_t update_confirm(void)
{
	const struct sidra_boot_info *boot = runtime_boot();
	struct sidra_boot_record record;
	struct record_place place;

	if (boot->slot > SIDRA_MGMT_SLOT_B)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	record_read(&record, &place);
	if (record.active != boot->slot || record.trial == boot->slot || record.attempts) {
		record.active = boot->slot;
		if (record.trial == boot->slot) {
			record.trial = SIDRA_BOOT_NO_SLOT;
			record.tried = 0;
		}
		record.attempts = 0;
		if (record_write(&record, &place))
			return SIDRA_MAILBOX_INTERNAL;
		log_text("confirmed");
	}
	/* Only now: if a trial fails, its fallback image must still be allowed to boot. */
	write_register(SIDRA_MGMT_SYSTEM_SECURITY, boot->security_version);
	return SIDRA_MAILBOX_OK;
}

void update_record(struct sidra_boot_record *record)
{
	struct record_place place;

	record_read(record, &place);
}

void update_all_is_well(void)
{
	static int said;

	if (said || runtime_boot()->slot > SIDRA_MGMT_SLOT_B || update_confirm() != SIDRA_MAILBOX_OK)
		return;
	said = 1;
	if (record_prepare())
		log_text("update: cannot erase the next sector of boot records");
}
