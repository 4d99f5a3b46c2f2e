/* SPDX-License-Identifier: GPL-2.0-only */
/* Temperature, power and clock where sensors(1) and its like look for them (docs/abi/sysfs-class-sidra-hwmon). */
#ifndef __SIDRA_HWMON_H__
#define __SIDRA_HWMON_H__

#include <linux/kconfig.h>

struct sidra_device;

#if IS_REACHABLE(CONFIG_HWMON)
/* Without it the device works all the same: the log has that there is none, and why. */
void sidra_hwmon_begin(struct sidra_device *sdev);
/* The mailbox is closed by then: nobody waits in it. */
void sidra_hwmon_end(struct sidra_device *sdev);
#else
static inline void sidra_hwmon_begin(struct sidra_device *sdev) {}
static inline void sidra_hwmon_end(struct sidra_device *sdev) {}
#endif

#endif
