/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_POLICY_H
#define SIDRA_FIRMWARE_POLICY_H

#include "image/image.h"

/* What this chip asks of an image of that type (enum sidra_fw_type), be it in the ROM or before it is tried. */
void boot_policy(uint32_t type, struct sidra_image_policy *policy);

#endif
