/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_POLICY_H
#define SIDRA_FIRMWARE_POLICY_H

#include "image/image.h"

/* The requirements of this chip for an image of this type (enum sidra_fw_type); the ROM and the update service use the same. */
void boot_policy(uint32_t type, struct sidra_image_policy *policy);

#endif
