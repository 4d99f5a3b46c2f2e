/* SPDX-License-Identifier: MIT */
#include "services/telemetry.h"

#include "drivers/registers.h"
#include "sidra_hw.h"
#include "sidra_management.h"

void telemetry_publish(const struct telemetry *now)
{
	write_register(SIDRA_MGMT_TELEMETRY_TEMPERATURE, (uint32_t)now->temperature_mc);
	write_register(SIDRA_MGMT_TELEMETRY_POWER, now->power_mw);
	write_register(SIDRA_MGMT_TELEMETRY_CLOCK, now->clock_khz);
	write_register(SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX, (uint32_t)now->temperature_max_mc);
	write_register(SIDRA_MGMT_TELEMETRY_LIMIT, now->limit_mw);
	write_register(SIDRA_MGMT_TELEMETRY_LIMIT_MIN, now->limit_min_mw);
	write_register(SIDRA_MGMT_TELEMETRY_LIMIT_MAX, now->limit_max_mw);
	write_register(SIDRA_MGMT_TELEMETRY_CLOCK_MAX, now->clock_max_khz);
	write_register(SIDRA_MGMT_TELEMETRY_THROTTLES, now->throttles);
	write_register(SIDRA_MGMT_TELEMETRY_VALID,
		       (uint32_t)(SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS));
}
