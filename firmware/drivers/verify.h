/* SPDX-License-Identifier: MIT */
/* The block that hashes and checks signatures, as image/image.h wants it. */
#ifndef SIDRA_FIRMWARE_VERIFY_H
#define SIDRA_FIRMWARE_VERIFY_H

#include "image/image.h"

extern const struct sidra_image_crypto verify_block;

#endif
