/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Temperature, power and clock in hwmon, for sensors(1) and similar tools
 * (docs/abi/sysfs-class-sidra-hwmon).
 */
#ifndef __SIDRA_HWMON_H__
#define __SIDRA_HWMON_H__

#include <linux/kconfig.h>

struct sidra_device;

#if IS_REACHABLE(CONFIG_HWMON)
/* A failure is logged; the device works without sensors. */
void sidra_hwmon_begin(struct sidra_device *sdev);
/* Called after the mailbox was closed, so no attribute waits for a reply. */
void sidra_hwmon_end(struct sidra_device *sdev);
#else
static inline void sidra_hwmon_begin(struct sidra_device *sdev) {}
static inline void sidra_hwmon_end(struct sidra_device *sdev) {}
#endif

#endif
