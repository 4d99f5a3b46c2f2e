/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alarms of hwmon, and notification of processes that poll them. The alarms are in the telemetry
 * page, which the firmware writes ten times a second. The driver reads it after an interrupt of the
 * chip, and whenever a reader of the page finds another state.
 */
#ifndef __SIDRA_ALARM_H__
#define __SIDRA_ALARM_H__

#include <linux/kconfig.h>
#include <linux/workqueue.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

struct sidra_device;

/**
 * enum sidra_alarm - alarms of hwmon
 * @SIDRA_ALARM_MAX: the temperature at which throttling begins
 * @SIDRA_ALARM_CRIT: the critical temperature
 * @SIDRA_ALARM_CAP: more power than the limit
 * @SIDRA_ALARM_COUNT: number of alarms
 */
enum sidra_alarm {
	SIDRA_ALARM_MAX,
	SIDRA_ALARM_CRIT,
	SIDRA_ALARM_CAP,
	SIDRA_ALARM_COUNT
};

/**
 * struct sidra_alarms - state of the notifications
 * @work: reads the page after an interrupt, and periodically while an alarm is on or the chip is
 *        throttled
 * @settled: jiffies until which the page may not yet reflect the latest interrupt
 * @on: bits by enum sidra_alarm, as last notified; used by @work only
 * @shown: alarms that somebody has read with another state since; pollers are notified even if the
 *         state has changed back
 */
struct sidra_alarms {
	struct delayed_work work;
	unsigned long settled;
	unsigned long on;
	unsigned long shown;
};

#if IS_REACHABLE(CONFIG_HWMON)
/* 1: the alarm is on; 0: off; -ENODATA: the page does not say. */
int sidra_alarm_state(const struct sidra_telemetry *page, enum sidra_alarm alarm);

void sidra_alarms_init(struct sidra_device *sdev);
/* Called before the hwmon device is removed. */
void sidra_alarms_end(struct sidra_device *sdev);

/* Handles SIDRA_INT_THERMAL, in any context. */
void sidra_alarms_check(struct sidra_device *sdev);
/* Records the alarms that a reader has seen in @page. */
void sidra_alarms_note(struct sidra_device *sdev, const struct sidra_telemetry *page);
#else
static inline void sidra_alarms_init(struct sidra_device *sdev) {}
static inline void sidra_alarms_check(struct sidra_device *sdev) {}
static inline void sidra_alarms_note(struct sidra_device *sdev, const struct sidra_telemetry *page)
{
}
#endif

#endif
