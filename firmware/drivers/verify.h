/* SPDX-License-Identifier: MIT */
/* The block that hashes and checks signatures, as image/image.h wants it. */
#ifndef SIDRA_FIRMWARE_VERIFY_H
#define SIDRA_FIRMWARE_VERIFY_H

#include "image/image.h"

extern const struct sidra_image_crypto verify_block;

/* A SHA-256 of what does not lie in memory as a whole. 0, or an enum sidra_mgmt_result. */
uint32_t sha256_begin(void);
uint32_t sha256_add(const void *data, size_t bytes);
uint32_t sha256_end(uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE]);

#endif
