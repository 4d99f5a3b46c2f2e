/* SPDX-License-Identifier: MIT */
#include "drivers/timer.h"

#include "drivers/registers.h"
#include "sidra_management.h"

uint64_t timer_now(void)
{
	const uint32_t low = read_register(SIDRA_MGMT_TIMER_NOW);

	return low | (uint64_t)read_register(SIDRA_MGMT_TIMER_NOW_HIGH) << 32;
}

void timer_set(uint64_t cycle)
{
	write_register(SIDRA_MGMT_TIMER_COMPARE_HIGH, ~0u);
	write_register(SIDRA_MGMT_TIMER_COMPARE, (uint32_t)cycle);
	write_register(SIDRA_MGMT_TIMER_COMPARE_HIGH, (uint32_t)(cycle >> 32));
}
