/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_TELEMETRY_H
#define SIDRA_FIRMWARE_TELEMETRY_H

#include <stdint.h>

/* Shows that in the host's telemetry page; again within a second, or it is gone from there. */
void telemetry_publish(int32_t temperature_mc, uint32_t power_mw, uint32_t clock_khz);

#endif
