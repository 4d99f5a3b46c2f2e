/* SPDX-License-Identifier: MIT */
/*
 * The boot ROM: selects an image, verifies it and starts it. A new image gets a trial; a watchdog reset, a panic or too many other
 * resets make it fail. If an image starts several times without confirming that it runs, the ROM changes to the other slot, then
 * to the recovery image. If that fails, too, the core stops, and queues are served without firmware.
 */
#include "boot/policy.h"
#include "boot/record.h"
#include "drivers/flash.h"
#include "drivers/registers.h"
#include "drivers/verify.h"
#include "drivers/watchdog.h"
#include "sidra_hw.h"

_Static_assert(SIDRA_BOOT_RAM_END - SIDRA_MGMT_RAM <= SIDRA_MGMT_FLASH_SLOT_SIZE, "what fits in RAM fits in a slot");
_Static_assert(SIDRA_BOOT_INFO == 0x1003ffc0u && SIDRA_BOOT_RAM_END == 0x1003e000u, "rom.ld says so, too");

_Noreturn void rom_main(void);
_Noreturn void rom_panic(uint32_t cause);
_Noreturn void rom_start(uint32_t entry, const struct sidra_boot_info *info);

static struct sidra_boot_info info;

/* Reads an image to its load address and verifies it there: no other agent can write to this memory. */
static enum sidra_image_result load(uint32_t slot, struct sidra_image *image)
{
	const uint32_t offset = SIDRA_MGMT_FLASH_SLOT(slot);
	uint8_t bytes[SIDRA_FW_HEADER_SIZE];
	struct sidra_image_policy policy;
	enum sidra_image_result result;
	uint64_t total;
	uint8_t *to;

	if (flash_read(offset, bytes, sizeof(bytes)))
		return SIDRA_IMAGE_TOO_SHORT;
	boot_policy(slot == SIDRA_MGMT_SLOT_RECOVERY ? SIDRA_FW_RECOVERY : SIDRA_FW_RUNTIME, &policy);
	result = sidra_image_total(bytes, sizeof(bytes), &total);
	/* The header is not trusted yet; its checks ensure that the image is read only to where images may be. */
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_header(bytes, (size_t)total, image); /* a total that wraps is refused: TRUNCATED */
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_fit(image, &policy);
	if (result != SIDRA_IMAGE_OK)
		return result;
	to = (uint8_t *)(uintptr_t)(image->header.load_address - SIDRA_FW_HEADER_SIZE);
	if (flash_read(offset, to, (uint32_t)total))
		return SIDRA_IMAGE_TRUNCATED;
	return sidra_image_verify(to, (size_t)total, &policy, &verify_block, image);
}

/* Returns only if the slot has no valid image. */
static void boot(uint32_t slot, uint32_t trial)
{
	struct sidra_image image;
	enum sidra_image_result result;
	uint32_t *word, *end;

	write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_VERIFY);
	result = load(slot, &image);
	info.result[slot] = result;
	if (result != SIDRA_IMAGE_OK) {
		write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_ROM);
		return;
	}
	info.magic = SIDRA_BOOT_INFO_MAGIC;
	info.size = sizeof(info);
	info.slot = slot;
	info.trial = trial;
	info.reason = read_register(SIDRA_MGMT_SYSTEM_REASON);
	info.version = image.header.version;
	info.security_version = image.header.security_version;
	for (uint32_t i = 0; i < sizeof(info.build_id); i++)
		info.build_id[i] = image.header.build_id[i];
	*(struct sidra_boot_info *)SIDRA_BOOT_INFO = info;
	/* The image expects zeros where its TLVs are now; TLVs end inside the image's RAM. */
	word = (uint32_t *)(uintptr_t)(image.header.load_address + image.header.image_size);
	end = (uint32_t *)(uintptr_t)(image.header.load_address + image.header.ram_size);
	while (word < end)
		*word++ = 0;
	rom_start(image.header.entry, (const struct sidra_boot_info *)SIDRA_BOOT_INFO);
}

void rom_panic(uint32_t cause)
{
	write_register(SIDRA_MGMT_SYSTEM_PANIC, SIDRA_PANIC_ROM | (cause & 0xff));
	for (;;)
		__asm__ volatile("wfi");
}

/*
 * Whether to start the image on trial. The reason for the last restart decides: after a watchdog reset or a panic of its own the
 * trial has failed. Other resets or a power-off may have come before the image could confirm itself (a driver resets more than
 * once), so it gets a limited number of attempts.
 */
static int on_trial(const struct sidra_boot_record *record)
{
	const uint32_t reason = read_register(SIDRA_MGMT_SYSTEM_REASON);

	if (record->trial == SIDRA_BOOT_NO_SLOT)
		return 0;
	return !record->tried || (reason != SIDRA_BOOT_WATCHDOG && reason != SIDRA_BOOT_PANIC && record->tried < SIDRA_BOOT_ATTEMPTS);
}

void rom_main(void)
{
	struct sidra_boot_record record;
	struct record_place place;
	uint32_t active, other;

	write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_ROM);
	watchdog_start(SIDRA_BOOT_GRACE_MS);
	record_read(&record, &place);
	/* If the record cannot be written, the chip must still boot the confirmed image, but without a trial. */
	if (on_trial(&record)) {
		record.tried++;
		if (!record_write(&record, &place))
			boot(record.trial, 1);
	}
	if (record.trial != SIDRA_BOOT_NO_SLOT) {
		record.failed = record.trial + 1;
		record.trial = SIDRA_BOOT_NO_SLOT;
		record.tried = 0;
	}
	active = record.active;
	other = active == SIDRA_MGMT_SLOT_A ? SIDRA_MGMT_SLOT_B : SIDRA_MGMT_SLOT_A;
	if (record.attempts < SIDRA_BOOT_ATTEMPTS) {
		record.attempts++;
		record_write(&record, &place);
		boot(active, 0);
	}
	/* The image in the other slot was confirmed once; it gets the same number of attempts. */
	record.active = other;
	record.attempts = 1;
	if (!record_write(&record, &place))
		boot(other, 0);
	/* Restore the record, so that it shows which slot has failed. */
	record.active = active;
	record.attempts = SIDRA_BOOT_ATTEMPTS;
	record_write(&record, &place);
	boot(SIDRA_MGMT_SLOT_RECOVERY, 0);
	write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_RECOVERY);
	watchdog_start(0);
	for (;;)
		__asm__ volatile("wfi");
}
