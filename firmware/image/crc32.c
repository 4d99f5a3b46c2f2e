// SPDX-License-Identifier: MIT
#include "image/crc32.h"

#define POLYNOMIAL 0xedb88320u /* 0x04c11db7, bits reversed */

uint32_t sidra_image_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	crc = ~crc;
	/*
	 * Bit by bit: it processes 256 bytes per boot, and a table would be larger than the rest.
	 */
	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (POLYNOMIAL & (0u - (crc & 1u)));
	}
	return ~crc;
}
