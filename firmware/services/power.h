/* SPDX-License-Identifier: MIT */
/*
 * The clock: as fast as the host wants it (DVFS), as its limit of power allows, and as the die's temperature does. A new start of the firmware
 * knows of neither wish; what had been taken down for heat comes back as it does after heat.
 */
#ifndef SIDRA_FIRMWARE_POWER_H
#define SIDRA_FIRMWARE_POWER_H

#include <stdint.h>

#include "sidra_management.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one level of the clock is: kHz, mV, and what the chip draws at work, mW. All public. */
struct power_level {
	uint32_t khz;
	uint32_t millivolt;
	uint32_t rated_mw;
};
extern const struct power_level power_levels[SIDRA_MGMT_CLOCK_LEVELS];

#define POWER_HIGHEST (SIDRA_MGMT_CLOCK_LEVELS - 1)

/* @limit_mw: in force; @power_mw: drawn in the last tick; @limit_level, @wanted_level: highest that limit and host allow; @level: that is */
struct power_report {
	uint32_t limit_mw;
	uint32_t power_mw;
	uint32_t limit_level;
	uint32_t wanted_level;
	uint32_t level;
	uint32_t throttled;
};

void power_start(void);
/* Each RUNTIME_TICK_MS: looks at the sensors, sets the clock, tells the host. */
void power_tick(void);

/* Each: enum sidra_mailbox_status. */
uint32_t power_set_limit(uint32_t mw); /* 0: none but the chip's own */
uint32_t power_set_wanted(uint32_t level);
void power_get(struct power_report *report);

#ifdef __cplusplus
}
#endif

#endif
