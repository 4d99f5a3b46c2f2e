/* SPDX-License-Identifier: MIT */
/*
 * The runtime: tests itself, calibrates the ADCs, confirms that it runs, and then serves the mailbox, sleeping in between. Queues
 * do not depend on it, so it may crash at any time.
 */
#include "core/log.h"
#include "core/panic.h"
#include "core/protect.h"
#include "core/runtime.h"
#include "drivers/registers.h"
#include "drivers/timer.h"
#include "drivers/verify.h"
#include "drivers/watchdog.h"
#include "image/bytes.h"
#include "services/calibrate.h"
#include "services/campaign.h"
#include "services/mailbox.h"
#include "services/power.h"
#include "services/update.h"
#include "sidra_hw.h"

#define MIE_TIMER	(1u << 7)
#define MIE_EXTERNAL	(1u << 11)

_Noreturn void runtime_main(const struct sidra_boot_info *info);

static const struct sidra_boot_info *boot;

const struct sidra_boot_info *runtime_boot(void)
{
	return boot;
}

uint32_t runtime_version(void)
{
	return boot->version;
}

const struct sidra_boot_dump *runtime_dump(void)
{
	return (const struct sidra_boot_dump *)SIDRA_BOOT_DUMP;
}

_Static_assert(SIDRA_BOOT_DUMP + sizeof(struct sidra_boot_dump) <= SIDRA_BOOT_OPERATIONS &&
		       SIDRA_BOOT_OPERATIONS + 2 * sizeof(struct sidra_kept_operation) <= SIDRA_BOOT_RAM_END + 0x1000,
	       "each has its place, and the rest is the ROM's stack");

struct sidra_kept_operation *runtime_operations(void)
{
	return (struct sidra_kept_operation *)SIDRA_BOOT_OPERATIONS;
}

/* Known-answer test of each block that services use (FIPS 180-4: SHA-256 of "abc"). */
static void self_test(void)
{
	static const uint8_t expected[SIDRA_IMAGE_DIGEST_SIZE] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad
	};
	uint8_t message[3] = { 'a', 'b', 'c' };
	uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE];

	if (read_register(SIDRA_MGMT_SYSTEM_ID) != SIDRA_ID_MAGIC)
		panic(SIDRA_PANIC_SELF_TEST | 1);
	if (verify_block.sha256(verify_block.self, message, sizeof(message), digest) || !sidra_image_equal(digest, expected, sizeof(digest)))
		panic(SIDRA_PANIC_SELF_TEST | 2);
}

static void beat(void)
{
	write_register(SIDRA_MGMT_SYSTEM_HEARTBEAT, read_register(SIDRA_MGMT_SYSTEM_HEARTBEAT) + 1);
	watchdog_feed();
}

void runtime_main(const struct sidra_boot_info *info)
{
	uint64_t next;

	protect_memory();
	boot = info;
	log_number("SIDRA runtime, version", boot->version);
	log_number("slot", boot->slot);
	write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_CALIBRATE);
	self_test();
	watchdog_start(RUNTIME_WATCHDOG_MS);
	write_register(SIDRA_MGMT_IRQ_ENABLE, SIDRA_MGMT_IRQ_MAILBOX);
	__asm__ volatile("csrw mie, %0" ::"r"(MIE_TIMER | MIE_EXTERNAL));
	power_start();
	campaign_start();
	calibrate_all();
	write_register(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_RUNTIME);
	log_text("running");

	next = timer_now() + RUNTIME_TICK_MS * CYCLES_PER_MS;
	timer_set(next);
	for (;;) {
		/* wfi returns at once if an interrupt is pending. */
		if (!campaign_step())
			__asm__ volatile("wfi");
		if (read_register(SIDRA_MGMT_IRQ_PENDING) & SIDRA_MGMT_IRQ_MAILBOX) {
			write_register(SIDRA_MGMT_IRQ_PENDING, SIDRA_MGMT_IRQ_MAILBOX);
			mailbox_serve();
		}
		if (timer_now() >= next) {
			beat();
			power_tick();
			update_all_is_well();
			/* Missed ticks are not repeated. */
			next = timer_now() + RUNTIME_TICK_MS * CYCLES_PER_MS;
			timer_set(next);
		}
	}
}
