/* SPDX-License-Identifier: MIT */
/* Time: cycles of the core's clock since power-on, SIDRA_MGMT_CYCLE_NS each. */
#ifndef SIDRA_FIRMWARE_TIMER_H
#define SIDRA_FIRMWARE_TIMER_H

#include <stdint.h>

#include "sidra_management.h"

#define CYCLES_PER_MS	(1000000u / SIDRA_MGMT_CYCLE_NS)

uint64_t timer_now(void);
/* Raises the timer interrupt at this cycle, or immediately if it has passed. */
void timer_set(uint64_t cycle);

#endif
