/* SPDX-License-Identifier: MIT */
/* The watchdog: restarts the core if it is not fed in time. */
#ifndef SIDRA_FIRMWARE_WATCHDOG_H
#define SIDRA_FIRMWARE_WATCHDOG_H

#include "drivers/registers.h"
#include "drivers/timer.h"
#include "sidra_management.h"

/* Starts the watchdog; 0 ms: stops it. */
static inline void watchdog_start(uint32_t ms)
{
	write_register(SIDRA_MGMT_WATCHDOG_PERIOD, ms * CYCLES_PER_MS);
}

static inline void watchdog_feed(void)
{
	write_register(SIDRA_MGMT_WATCHDOG_FEED, SIDRA_MGMT_WATCHDOG_FOOD);
}

#endif
