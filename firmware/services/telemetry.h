/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_TELEMETRY_H
#define SIDRA_FIRMWARE_TELEMETRY_H

#include <stdint.h>

/* As in struct sidra_telemetry. */
struct telemetry {
	int32_t temperature_mc;
	uint32_t power_mw;
	uint32_t clock_khz;
	int32_t temperature_max_mc;
	uint32_t limit_mw;
	uint32_t limit_min_mw;
	uint32_t limit_max_mw;
	uint32_t clock_max_khz;
	uint32_t throttles;
};

/* Publishes values in the host's telemetry page. They expire after one second. */
void telemetry_publish(const struct telemetry *now);

#endif
