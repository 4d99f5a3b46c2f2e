/* SPDX-License-Identifier: MIT */
#include "services/telemetry.h"

#include "drivers/registers.h"
#include "sidra_hw.h"
#include "sidra_management.h"

void telemetry_publish(int32_t temperature_mc, uint32_t power_mw, uint32_t clock_khz)
{
	write_register(SIDRA_MGMT_TELEMETRY_TEMPERATURE, (uint32_t)temperature_mc);
	write_register(SIDRA_MGMT_TELEMETRY_POWER, power_mw);
	write_register(SIDRA_MGMT_TELEMETRY_CLOCK, clock_khz);
	write_register(SIDRA_MGMT_TELEMETRY_VALID, (uint32_t)(SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER));
}
