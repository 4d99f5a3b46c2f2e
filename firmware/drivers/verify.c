/* SPDX-License-Identifier: MIT */
#include "drivers/verify.h"

#include "drivers/registers.h"
#include "image/bytes.h"
#include "sidra_management.h"

static uint32_t command(uint32_t what, const void *data, size_t bytes)
{
	write_register(SIDRA_MGMT_VERIFY_ADDRESS, local_address(data));
	write_register(SIDRA_MGMT_VERIFY_BYTES, (uint32_t)bytes);
	__asm__ volatile("" ::: "memory"); /* the block reads memory */
	write_register(SIDRA_MGMT_VERIFY_COMMAND, what);
	return read_register(SIDRA_MGMT_VERIFY_RESULT);
}

uint32_t sha256_begin(void)
{
	return command(SIDRA_MGMT_VERIFY_BEGIN, 0, 0);
}

uint32_t sha256_add(const void *data, size_t bytes)
{
	return command(SIDRA_MGMT_VERIFY_ADD, data, bytes);
}

uint32_t sha256_end(uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE])
{
	const uint32_t result = command(SIDRA_MGMT_VERIFY_END, 0, 0);

	for (uint32_t i = 0; i < SIDRA_IMAGE_DIGEST_SIZE; i += 4)
		sidra_image_put32(digest + i, read_register(SIDRA_MGMT_VERIFY_DIGEST + i));
	return result;
}

static int sha256(void *self, const void *data, size_t size, uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE])
{
	(void)self;
	return sha256_begin() || sha256_add(data, size) || sha256_end(digest) ? -1 : 0;
}

static int ed25519(void *self, const uint8_t signature[SIDRA_IMAGE_SIGNATURE_SIZE], const void *message, size_t size,
		   const uint8_t key[SIDRA_IMAGE_KEY_SIZE])
{
	(void)self;
	for (uint32_t i = 0; i < SIDRA_IMAGE_SIGNATURE_SIZE; i += 4)
		write_register(SIDRA_MGMT_VERIFY_SIG + i, sidra_image_get32(signature + i));
	for (uint32_t i = 0; i < SIDRA_IMAGE_KEY_SIZE; i += 4)
		write_register(SIDRA_MGMT_VERIFY_KEY + i, sidra_image_get32(key + i));
	switch (command(SIDRA_MGMT_VERIFY_SIGNATURE, message, size)) {
	case SIDRA_MGMT_OK:
		return 0;
	case SIDRA_MGMT_DIFFERENT:
		return 1;
	default:
		return -1;
	}
}

const struct sidra_image_crypto verify_block = { 0, sha256, ed25519 };
