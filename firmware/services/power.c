/* SPDX-License-Identifier: MIT */
#include "services/power.h"

#include "core/log.h"
#include "drivers/registers.h"
#include "services/mailbox.h"
#include "services/telemetry.h"
#include "services/thermal.h"
#include "sidra_hw.h"

const struct power_level power_levels[SIDRA_MGMT_CLOCK_LEVELS] = {
	{ 100000, 600, 100 },
	{ 250000, 700, 500 },
	{ 500000, 800, 1500 },
	{ 1000000, 1000, 3000 },
};

static struct {
	struct power_report now;
	struct thermal thermal;
	enum thermal_state state;
	int32_t temperature_mc; /* of the last tick */
	uint32_t throttles;
} power;

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The highest level whose rated power is within the limit. */
static uint32_t level_within(uint32_t mw)
{
	uint32_t level = POWER_HIGHEST;

	while (level && power_levels[level].rated_mw > mw)
		level--;
	return level;
}

static void set_clock(void)
{
	struct power_report *now = &power.now;
	const uint32_t level = least(least(now->wanted_level, now->limit_level), power.thermal.allowed);

	now->throttled = level < now->wanted_level;
	power.throttles += now->throttled && level < now->level;
	now->level = level;
	write_register(SIDRA_MGMT_CLOCK_LEVEL, level);
	if (read_register(SIDRA_MGMT_CLOCK_THROTTLED) != now->throttled)
		write_register(SIDRA_MGMT_CLOCK_THROTTLED, now->throttled);
}

static void show(void)
{
	const struct telemetry now = {
		.temperature_mc = power.temperature_mc,
		.power_mw = power.now.power_mw,
		.clock_khz = read_register(SIDRA_MGMT_CLOCK_KHZ),
		.temperature_max_mc = THERMAL_MAX_MC((int32_t)read_register(SIDRA_MGMT_SENSOR_CRITICAL)),
		.limit_mw = power.now.limit_mw,
		.limit_min_mw = power_levels[0].rated_mw,
		.limit_max_mw = power_levels[POWER_HIGHEST].rated_mw,
		.clock_max_khz = power_levels[POWER_HIGHEST].khz,
		.throttles = power.throttles,
	};

	telemetry_publish(&now);
}

static void tell(void)
{
	static const char *const texts[] = {
		[THERMAL_COOL] = "thermal: cool, millidegrees",
		[THERMAL_THROTTLED] = "thermal: throttled, millidegrees",
		[THERMAL_TRIPPED] = "thermal: critical, millidegrees",
	};

	log_number(texts[power.state], (uint32_t)power.temperature_mc);
	mailbox_event(MAILBOX_EVENT_THERMAL, power.state, (uint32_t)power.temperature_mc | (uint64_t)read_register(SIDRA_MGMT_CLOCK_KHZ) << 32,
		      power.now.power_mw | (uint64_t)power.now.level << 32);
}

void power_tick(void)
{
	const int32_t critical_mc = (int32_t)read_register(SIDRA_MGMT_SENSOR_CRITICAL);
	const int tripped = read_register(SIDRA_MGMT_SENSOR_TRIPPED) != 0;
	const enum thermal_state before = power.state;

	power.temperature_mc = (int32_t)read_register(SIDRA_MGMT_SENSOR_TEMPERATURE);
	power.now.power_mw = read_register(SIDRA_MGMT_SENSOR_POWER);
	power.state = thermal_look(&power.thermal, power.temperature_mc, critical_mc, tripped);
	set_clock();
	show();
	if (power.state != before)
		tell();
}

static void set_limit(uint32_t mw)
{
	power.now.limit_mw = mw;
	power.now.limit_level = level_within(mw);
	set_clock();
}

void power_start(void)
{
	power.now.wanted_level = POWER_HIGHEST;
	power.throttles = 0;
	power.thermal.highest = POWER_HIGHEST;
	power.thermal.allowed = least(read_register(SIDRA_MGMT_CLOCK_LEVEL), POWER_HIGHEST);
	power.thermal.wait = THERMAL_DWELL;
	power.state = power.thermal.allowed < POWER_HIGHEST ? THERMAL_THROTTLED : THERMAL_COOL;
	set_limit(power_levels[POWER_HIGHEST].rated_mw);
	power_tick();
}

uint32_t power_set_limit(uint32_t mw)
{
	if (mw == 0)
		mw = power_levels[POWER_HIGHEST].rated_mw;
	if (mw < power_levels[0].rated_mw || mw > power_levels[POWER_HIGHEST].rated_mw)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	set_limit(mw);
	show();
	return SIDRA_MAILBOX_OK;
}

uint32_t power_set_wanted(uint32_t level)
{
	if (level > POWER_HIGHEST)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	power.now.wanted_level = level;
	set_clock();
	show();
	return SIDRA_MAILBOX_OK;
}

void power_get(struct power_report *report)
{
	*report = power.now;
}
