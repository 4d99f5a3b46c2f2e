/* SPDX-License-Identifier: MIT */
/* Measures and corrects the ADC offsets: at each start, cluster by cluster, and later in campaigns. */
#ifndef SIDRA_FIRMWARE_CALIBRATE_H
#define SIDRA_FIRMWARE_CALIBRATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of the remaining crossbars to calibrate in parallel: one cluster. */
uint32_t calibrate_run(uint32_t left);
/* Calibrates all crossbars. Errors are logged, and do not prevent operation. */
void calibrate_all(void);

#ifdef __cplusplus
}
#endif

#endif
