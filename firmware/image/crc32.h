/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_IMAGE_CRC32_H
#define SIDRA_FIRMWARE_IMAGE_CRC32_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * CRC-32 (reflected 0x04c11db7, as in Ethernet and zip), continued from `crc`; the CRC of no data
 * is 0.
 */
uint32_t sidra_image_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
