/* SPDX-License-Identifier: MIT */
/* Little-endian numbers at any alignment (the core traps on misaligned loads). */
#ifndef SIDRA_FIRMWARE_IMAGE_BYTES_H
#define SIDRA_FIRMWARE_IMAGE_BYTES_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

uint16_t sidra_image_get16(const uint8_t *bytes);
uint32_t sidra_image_get32(const uint8_t *bytes);
uint64_t sidra_image_get64(const uint8_t *bytes);
void sidra_image_put16(uint8_t *bytes, uint16_t value);
void sidra_image_put32(uint8_t *bytes, uint32_t value);
void sidra_image_put64(uint8_t *bytes, uint64_t value);
bool sidra_image_all_zero(const uint8_t *bytes, size_t size);
/* For public values only: not constant-time. */
bool sidra_image_equal(const uint8_t *a, const uint8_t *b, size_t size);

#ifdef __cplusplus
}
#endif

#endif
