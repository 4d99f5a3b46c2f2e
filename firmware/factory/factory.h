/* SPDX-License-Identifier: MIT */
/* The factory firmware, linked into the model: the boot ROM, and images for slot A and for recovery. */
#ifndef SIDRA_FIRMWARE_FACTORY_H
#define SIDRA_FIRMWARE_FACTORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const uint8_t sidra_boot_rom[], sidra_boot_rom_end[];
extern const uint8_t sidra_factory_runtime[], sidra_factory_runtime_end[];
extern const uint8_t sidra_factory_recovery[], sidra_factory_recovery_end[];

#ifdef __cplusplus
}
#endif

#endif
