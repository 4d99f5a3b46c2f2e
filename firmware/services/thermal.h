/* SPDX-License-Identifier: MIT */
/*
 * Limits the clock by temperature. From a margin below the critical temperature on, each check lowers the clock by one level; it
 * rises by one level at a time after the die has been clearly cooler for a while. At the critical temperature the chip throttles
 * by itself, and this follows.
 */
#ifndef SIDRA_FIRMWARE_THERMAL_H
#define SIDRA_FIRMWARE_THERMAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THERMAL_MARGIN_MC     10000 /* throttling starts this far below the critical temperature */
#define THERMAL_HYSTERESIS_MC 5000  /* recovery starts this far below that */
/* Temperature at which throttling starts. */
#define THERMAL_MAX_MC(critical_mc) ((critical_mc) - THERMAL_MARGIN_MC)

#define THERMAL_DWELL	      10u   /* number of cool checks before the next higher level */

enum thermal_state {
	THERMAL_COOL	  = 0,
	THERMAL_THROTTLED = 1, /* some levels are not allowed */
	THERMAL_TRIPPED	  = 2  /* critical */
};

/* @highest: level without throttling; @allowed: highest level allowed now; @wait: checks until the next level */
struct thermal {
	uint32_t highest;
	uint32_t allowed;
	uint32_t wait;
};

/* Performs one check; temperatures in thousandths of a degree Celsius; `tripped`: state of the chip's comparator. */
enum thermal_state thermal_look(struct thermal *thermal, int32_t temperature_mc, int32_t critical_mc, int tripped);

#ifdef __cplusplus
}
#endif

#endif
