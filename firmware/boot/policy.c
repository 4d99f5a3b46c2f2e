/* SPDX-License-Identifier: MIT */
#include "boot/policy.h"

#include "boot/trusted_keys.h"
#include "drivers/registers.h"
#include "sidra_boot.h"
#include "sidra_hw.h"

void boot_policy(uint32_t type, struct sidra_image_policy *policy)
{
	*policy = (struct sidra_image_policy){
		.ram_begin = SIDRA_BOOT_RAM_BEGIN,
		.ram_end = SIDRA_BOOT_RAM_END,
		.chip_id = SIDRA_PCI_DEVICE_ID,
		.type = type,
		.api_major = { [SIDRA_FW_API_BOOT] = 1 },
		.min_security_version = read_register(SIDRA_MGMT_SYSTEM_SECURITY),
		.keys = trusted_keys,
		.keys_count = sizeof(trusted_keys) / sizeof(trusted_keys[0]),
	};
}
