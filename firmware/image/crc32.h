/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_IMAGE_CRC32_H
#define SIDRA_FIRMWARE_IMAGE_CRC32_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CRC-32 (reflected 0x04c11db7, as Ethernet and zip have it), continued from `crc`; that of nothing is 0. */
uint32_t sidra_image_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
