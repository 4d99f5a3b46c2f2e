/* SPDX-License-Identifier: MIT */
/*
 * Controls the clock: the lowest of what the host requests (DVFS), its power limit and the temperature allow. A restart of the
 * firmware resets request and limit; a clock that was lowered because of heat recovers as usual.
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

/*
 * @limit_mw: power limit; @power_mw: average of the last tick; @limit_level, @wanted_level: highest level by limit and by host;
 * @level: current
 */
struct power_report {
	uint32_t limit_mw;
	uint32_t power_mw;
	uint32_t limit_level;
	uint32_t wanted_level;
	uint32_t level;
	uint32_t throttled;
};

void power_start(void);
/* Called every RUNTIME_TICK_MS: reads the sensors, sets the clock, updates telemetry. */
void power_tick(void);

/* Return an enum sidra_mailbox_status. Telemetry has the new values then, so that the host can read back what it has set. */
uint32_t power_set_limit(uint32_t mw); /* 0: no limit but the chip's own */
uint32_t power_set_wanted(uint32_t level);
void power_get(struct power_report *report);

#ifdef __cplusplus
}
#endif

#endif
