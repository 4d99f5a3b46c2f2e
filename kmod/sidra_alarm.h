/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alarms of hwmon, and who polls them: they are told when one goes on or off. It is the telemetry page that has them, which the firmware writes
 * ten times a second; when to look at it is said by the chip's interrupt, and by whoever reads the page and finds another state.
 */
#ifndef __SIDRA_ALARM_H__
#define __SIDRA_ALARM_H__

#include <linux/kconfig.h>
#include <linux/workqueue.h>

#include <sidra_accel.h>

struct sidra_device;

enum sidra_alarm {
	SIDRA_ALARM_MAX,	/* the temperature from which on the clock is taken down */
	SIDRA_ALARM_CRIT,	/* and the critical one */
	SIDRA_ALARM_CAP,	/* more power than the limit */
	SIDRA_ALARM_COUNT
};

/**
 * struct sidra_alarms - what was told of them
 * @work: looks at the page: a while after there was a reason to, and as long as one is on, or the chip is slowed down
 * @settled: jiffies until which the page may not have what the latest reason was
 * @on: by enum sidra_alarm, as told; @work's
 * @shown: those that somebody has read otherwise since: he is told of them even if they are again as they were
 */
struct sidra_alarms {
	struct delayed_work work;
	unsigned long settled;
	unsigned long on;
	unsigned long shown;
};

#if IS_REACHABLE(CONFIG_HWMON)
/* 1: it is on; 0; -ENODATA: the page does not say. */
int sidra_alarm_state(const struct sidra_telemetry *page, enum sidra_alarm alarm);

void sidra_alarms_init(struct sidra_device *sdev);
/* Before hwmon's device goes. */
void sidra_alarms_end(struct sidra_device *sdev);

/* SIDRA_INT_THERMAL. From anywhere. */
void sidra_alarms_look(struct sidra_device *sdev);
/* Somebody has read that page. */
void sidra_alarms_note(struct sidra_device *sdev, const struct sidra_telemetry *page);
#else
static inline void sidra_alarms_init(struct sidra_device *sdev) {}
static inline void sidra_alarms_look(struct sidra_device *sdev) {}
static inline void sidra_alarms_note(struct sidra_device *sdev, const struct sidra_telemetry *page) {}
#endif

#endif
