/* SPDX-License-Identifier: MIT */
/* Interface of the runtime for services. */
#ifndef SIDRA_FIRMWARE_RUNTIME_H
#define SIDRA_FIRMWARE_RUNTIME_H

#include "sidra_boot.h"
#include "sidra_operation.h"

#define RUNTIME_TICK_MS		100u	/* heartbeat */
#define RUNTIME_WATCHDOG_MS	1000u

#ifdef __cplusplus
extern "C" {
#endif

const struct sidra_boot_info *runtime_boot(void);
uint32_t runtime_version(void);
/* The dump of the last image that panicked; check its magic and CRC. */
const struct sidra_boot_dump *runtime_dump(void);
/* Two entries, in memory that survives resets. */
struct sidra_kept_operation *runtime_operations(void);

#ifdef __cplusplus
}
#endif

#endif
