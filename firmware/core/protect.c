/* SPDX-License-Identifier: MIT */
#include "core/protect.h"

#include <stdint.h>

#include "sidra_management.h"

#define NONE	      0u
#define READ_WRITE    3u
#define READ_EXECUTE  5u
#define UP_TO	      (1u << 3) /* TOR in the manual: from the end of the previous entry */
#define LOCKED	      (1u << 7)
#define RULE(rights)  (LOCKED | UP_TO | (rights))
#define RULES(a, b, c, d) (RULE(a) | RULE(b) << 8 | RULE(c) << 16 | RULE(d) << 24)

#define END(entry, address) __asm__ volatile("csrw pmpaddr" #entry ", %0" ::"r"((uint32_t)(address) >> 2))

/* Defined in runtime.ld, page-aligned. */
extern const char __text_end[], __guard_begin[], __guard_end[];

void protect_memory(void)
{
	/* Set the ends first: they have no effect without their rules. */
	END(0, SIDRA_MGMT_RAM);		   /* the ROM, including address 0 */
	END(1, (uintptr_t)__text_end);	   /* code and constants */
	END(2, (uintptr_t)__guard_begin);  /* variables */
	END(3, (uintptr_t)__guard_end);	   /* guard page below the stack */
	END(4, SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE); /* stack, dump, boot info */
	END(5, ~0u);			   /* registers */
	__asm__ volatile("csrw pmpcfg0, %0" ::"r"(RULES(NONE, READ_EXECUTE, READ_WRITE, NONE)) : "memory");
	__asm__ volatile("csrw pmpcfg1, %0" ::"r"(RULE(READ_WRITE) | RULE(READ_WRITE) << 8) : "memory");
}
