/* SPDX-License-Identifier: MIT */
#include "factory/factory.h"

#define INCLUDE_FILE(symbol, file)	\
	__asm__(".section .rodata\n"	\
		".balign 8\n"		\
		".globl " symbol "\n"	\
		symbol ":\n"		\
		".incbin \"" file "\"\n" \
		".globl " symbol "_end\n" \
		symbol "_end:\n"	\
		".text\n")

INCLUDE_FILE("sidra_boot_rom", SIDRA_ROM_FILE);
INCLUDE_FILE("sidra_factory_runtime", SIDRA_RUNTIME_FILE);
INCLUDE_FILE("sidra_factory_recovery", SIDRA_RECOVERY_FILE);
