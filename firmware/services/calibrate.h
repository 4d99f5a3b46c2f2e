/* SPDX-License-Identifier: MIT */
/* ADCs: what they are off by is measured and trimmed away at each start, cluster after cluster, and later by campaigns. */
#ifndef SIDRA_FIRMWARE_CALIBRATE_H
#define SIDRA_FIRMWARE_CALIBRATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of so many crossbars that are left, how many are calibrated side by side: a cluster. */
uint32_t calibrate_run(uint32_t left);
/* All crossbars. What is wrong with ADCs is in the log, and keeps nothing from running. */
void calibrate_all(void);

#ifdef __cplusplus
}
#endif

#endif
