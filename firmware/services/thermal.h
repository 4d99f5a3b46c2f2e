/* SPDX-License-Identifier: MIT */
/*
 * How fast the clock may be at a temperature. A little below what is critical it is taken down, a level at each look; it comes back a level at a
 * time, when the die has been clearly cooler for a while. At the critical temperature the chip acts by itself, and this follows it.
 */
#ifndef SIDRA_FIRMWARE_THERMAL_H
#define SIDRA_FIRMWARE_THERMAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THERMAL_MARGIN_MC     10000 /* below the critical temperature: throttled */
#define THERMAL_HYSTERESIS_MC 5000  /* below that: back again */
/* From here on it is hot. */
#define THERMAL_MAX_MC(critical_mc) ((critical_mc) - THERMAL_MARGIN_MC)

#define THERMAL_DWELL	      10u   /* looks that it is as cool as this for each level */

enum thermal_state {
	THERMAL_COOL	  = 0,
	THERMAL_THROTTLED = 1, /* not all levels yet, or not any more */
	THERMAL_TRIPPED	  = 2  /* critical */
};

/* @highest: level without any heat; @allowed: the one that may be now; @wait: looks to go until the next */
struct thermal {
	uint32_t highest;
	uint32_t allowed;
	uint32_t wait;
};

/* One look, thousandths of a degree Celsius; `tripped`: what the chip's comparator says. */
enum thermal_state thermal_look(struct thermal *thermal, int32_t temperature_mc, int32_t critical_mc, int tripped);

#ifdef __cplusplus
}
#endif

#endif
