/* SPDX-License-Identifier: MIT */
/* Access to the host's memory by bus address. Return 0, or an enum sidra_mgmt_result; at most SIDRA_MGMT_COPY_MAX bytes. */
#ifndef SIDRA_FIRMWARE_COPY_H
#define SIDRA_FIRMWARE_COPY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t copy_from_host(void *to, uint64_t bus, uint32_t bytes);
uint32_t copy_to_host(uint64_t bus, const void *from, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
