/* SPDX-License-Identifier: MIT */
/* Driver of the block for hashes and signatures, as image/image.h requires. */
#ifndef SIDRA_FIRMWARE_VERIFY_H
#define SIDRA_FIRMWARE_VERIFY_H

#include "image/image.h"

extern const struct sidra_image_crypto verify_block;

/* SHA-256 of data that is not contiguous in memory. Return 0, or an enum sidra_mgmt_result. */
uint32_t sha256_begin(void);
uint32_t sha256_add(const void *data, size_t bytes);
uint32_t sha256_end(uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE]);

#endif
