/* SPDX-License-Identifier: MIT */
#include "boot/rom_image.h"

__asm__(".section .rodata\n"
	".balign 8\n"
	".globl sidra_boot_rom\n"
	"sidra_boot_rom:\n"
	".incbin \"" SIDRA_ROM_FILE "\"\n"
	".globl sidra_boot_rom_end\n"
	"sidra_boot_rom_end:\n"
	".text\n");
