// SPDX-License-Identifier: MIT
#include "image/bytes.h"

uint16_t sidra_image_get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t sidra_image_get32(const uint8_t *bytes)
{
	return sidra_image_get16(bytes) | (uint32_t)sidra_image_get16(bytes + 2) << 16;
}

uint64_t sidra_image_get64(const uint8_t *bytes)
{
	return sidra_image_get32(bytes) | (uint64_t)sidra_image_get32(bytes + 4) << 32;
}

void sidra_image_put16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

void sidra_image_put32(uint8_t *bytes, uint32_t value)
{
	sidra_image_put16(bytes, (uint16_t)value);
	sidra_image_put16(bytes + 2, (uint16_t)(value >> 16));
}

void sidra_image_put64(uint8_t *bytes, uint64_t value)
{
	sidra_image_put32(bytes, (uint32_t)value);
	sidra_image_put32(bytes + 4, (uint32_t)(value >> 32));
}

bool sidra_image_all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

bool sidra_image_equal(const uint8_t *a, const uint8_t *b, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (a[i] != b[i])
			return false;
	return true;
}
