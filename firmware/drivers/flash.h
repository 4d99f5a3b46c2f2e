/* SPDX-License-Identifier: MIT */
/* The flash block. Offsets are in flash. Return 0, or an enum sidra_mgmt_result. */
#ifndef SIDRA_FIRMWARE_FLASH_H
#define SIDRA_FIRMWARE_FLASH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t flash_read(uint32_t offset, void *to, uint32_t bytes);
uint32_t flash_erase(uint32_t offset); /* the sector at this offset */
uint32_t flash_program(uint32_t offset, const void *from, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
