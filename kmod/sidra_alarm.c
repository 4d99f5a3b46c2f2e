// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/hwmon.h>

#include "sidra_alarm.h"
#include "sidra_device.h"
#include "sidra_telemetry.h"

#define SETTLE		HZ		/* what the firmware publishes is valid for a second */
#define SETTLE_CHECK	(HZ / 10)	/* the firmware's own interval */
#define CHANGE_CHECK	HZ

/* The field of the page that an alarm needs, and its name in hwmon. */
static const struct {
	u64 valid;
	enum hwmon_sensor_types type;
	u32 attr;
} alarms[] = {
	[SIDRA_ALARM_MAX] = { SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_LIMITS, hwmon_temp,
			      hwmon_temp_max_alarm },
	[SIDRA_ALARM_CRIT] = { SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_LIMITS, hwmon_temp,
			       hwmon_temp_crit_alarm },
	[SIDRA_ALARM_CAP] = { SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS, hwmon_power,
			      hwmon_power_cap_alarm },
};

int sidra_alarm_state(const struct sidra_telemetry *page, enum sidra_alarm alarm)
{
	s32 temperature = le32_to_cpu(page->temperature_mc);

	if ((le64_to_cpu(page->valid) & alarms[alarm].valid) != alarms[alarm].valid)
		return -ENODATA;
	switch (alarm) {
	case SIDRA_ALARM_MAX:
		return temperature >= (s32)le32_to_cpu(page->temperature_max_mc);
	case SIDRA_ALARM_CRIT:
		return temperature >= (s32)le32_to_cpu(page->temperature_crit_mc);
	default:
		return le32_to_cpu(page->power_mw) > le32_to_cpu(page->power_limit_mw);
	}
}

/* The alarms that are on. An alarm that the page says nothing about keeps its state in @on. */
static unsigned long sidra_alarms_on(const struct sidra_telemetry *page, unsigned long on)
{
	enum sidra_alarm alarm;

	for (alarm = 0; alarm < SIDRA_ALARM_COUNT; alarm++) {
		int state = sidra_alarm_state(page, alarm);

		if (state >= 0)
			__assign_bit(alarm, &on, state);
	}
	return on;
}

/*
 * Notifies pollers of changes. Returns whether there may be further changes without an interrupt:
 * the chip raises none when an alarm goes off, and none when it has to slow down further.
 */
static bool sidra_alarms_notify_changes(struct sidra_device *sdev)
{
	struct sidra_alarms *state = &sdev->alarms;
	struct sidra_telemetry page;
	unsigned long on, changed;
	enum sidra_alarm alarm;
	int ret;

	ret = sidra_telemetry_read(sdev, &page);
	if (ret)
		return ret == -EAGAIN || state->on;
	on = sidra_alarms_on(&page, state->on);
	changed = (on ^ state->on) | xchg(&state->shown, 0);
	if (changed)
		sidra_telemetry_renew(sdev);
	WRITE_ONCE(state->on, on);
	for_each_set_bit(alarm, &changed, SIDRA_ALARM_COUNT)
		hwmon_notify_event(sdev->hwmon, alarms[alarm].type, alarms[alarm].attr, 0);
	return on || page.status & cpu_to_le32(SIDRA_STATUS_THROTTLED);
}

static void sidra_alarms_work(struct work_struct *work)
{
	struct sidra_alarms *state = container_of(to_delayed_work(work), struct sidra_alarms, work);
	bool again = sidra_alarms_notify_changes(container_of(state, struct sidra_device, alarms));

	if (time_before(jiffies, READ_ONCE(state->settled)))
		queue_delayed_work(system_freezable_wq, &state->work, SETTLE_CHECK);
	else if (again)
		queue_delayed_work(system_freezable_wq, &state->work, CHANGE_CHECK);
}

void sidra_alarms_init(struct sidra_device *sdev)
{
	INIT_DELAYED_WORK(&sdev->alarms.work, sidra_alarms_work);
}

void sidra_alarms_end(struct sidra_device *sdev)
{
	disable_delayed_work_sync(&sdev->alarms.work);
}

void sidra_alarms_check(struct sidra_device *sdev)
{
	if (!READ_ONCE(sdev->hwmon))
		return;
	WRITE_ONCE(sdev->alarms.settled, jiffies + SETTLE);
	mod_delayed_work(system_freezable_wq, &sdev->alarms.work, 0);
}

void sidra_alarms_note(struct sidra_device *sdev, const struct sidra_telemetry *page)
{
	unsigned long on = READ_ONCE(sdev->alarms.on);
	unsigned long shown = sidra_alarms_on(page, on) ^ on;
	enum sidra_alarm alarm;

	if (!shown)
		return;
	for_each_set_bit(alarm, &shown, SIDRA_ALARM_COUNT)
		set_bit(alarm, &sdev->alarms.shown);
	sidra_alarms_check(sdev);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_alarm_kunit.c"
#endif
