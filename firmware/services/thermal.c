/* SPDX-License-Identifier: MIT */
#include "services/thermal.h"

enum thermal_state thermal_look(struct thermal *thermal, int32_t temperature_mc, int32_t critical_mc, int tripped)
{
	const int32_t hot = THERMAL_MAX_MC(critical_mc);

	if (tripped) {
		thermal->allowed = 0;
		thermal->wait = THERMAL_DWELL;
		return THERMAL_TRIPPED;
	}
	if (temperature_mc >= hot) {
		if (thermal->allowed)
			thermal->allowed--;
		thermal->wait = THERMAL_DWELL;
	} else if (temperature_mc <= hot - THERMAL_HYSTERESIS_MC && thermal->allowed < thermal->highest) {
		if (thermal->wait)
			thermal->wait--;
		if (!thermal->wait) {
			thermal->allowed++;
			thermal->wait = THERMAL_DWELL;
		}
	}
	return thermal->allowed < thermal->highest ? THERMAL_THROTTLED : THERMAL_COOL;
}
