/* SPDX-License-Identifier: MIT */
/* The boot ROM, as it is linked into the chip. */
#ifndef SIDRA_FIRMWARE_ROM_IMAGE_H
#define SIDRA_FIRMWARE_ROM_IMAGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const uint8_t sidra_boot_rom[];
extern const uint8_t sidra_boot_rom_end[];

#ifdef __cplusplus
}
#endif

#endif
