/* SPDX-License-Identifier: MIT */
#include "core/panic.h"

#include "core/log.h"
#include "core/runtime.h"
#include "drivers/registers.h"
#include "drivers/timer.h"
#include "image/crc32.h"
#include "sidra_boot.h"

#define CSR(name) \
	static uint32_t name(void) \
	{ \
		uint32_t value; \
\
		__asm__ volatile("csrr %0, " #name : "=r"(value)); \
		return value; \
	}

CSR(mepc)
CSR(mcause)
CSR(mtval)
CSR(mstatus)

uint32_t trap_registers[32]; /* start.S */

_Noreturn void panic_trap(void);

static void leave_dump(uint32_t code)
{
	struct sidra_boot_dump *dump = (struct sidra_boot_dump *)SIDRA_BOOT_DUMP;

	dump->magic = 0; /* invalid until complete */
	dump->size = sizeof(*dump);
	dump->code = code;
	dump->version = runtime_version();
	dump->cycles = timer_now();
	for (uint32_t i = 0; i < 32; i++)
		dump->x[i] = trap_registers[i];
	dump->pc = mepc();
	dump->mcause = mcause();
	dump->mtval = mtval();
	dump->mstatus = mstatus();
	for (uint32_t i = 0; i < sizeof(dump->log); i++)
		dump->log[i] = 0;
	dump->log_bytes = log_copy(dump->log, sizeof(dump->log));
	dump->magic = SIDRA_BOOT_DUMP_MAGIC;
	dump->crc32 = sidra_image_crc32(0, (const uint8_t *)dump, offsetof(struct sidra_boot_dump, crc32));
}

void panic(uint32_t code)
{
	log_number("panic", code);
	leave_dump(code);
	write_register(SIDRA_MGMT_SYSTEM_PANIC, code);
	for (;;)
		__asm__ volatile("wfi");
}

void panic_trap(void)
{
	panic(SIDRA_PANIC_TRAP | (mcause() & 0xffff));
}
