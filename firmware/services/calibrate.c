/* SPDX-License-Identifier: MIT */
#include "services/calibrate.h"

#include "core/log.h"
#include "drivers/sequencer.h"
#include "sidra_management.h"

#define CLUSTER 400u /* crossbars: 25 compute units of 16 (public) */

uint32_t calibrate_run(uint32_t left)
{
	return left < CLUSTER ? left : CLUSTER;
}

void calibrate_all(void)
{
	const uint32_t xbars = sequencer_xbars();
	struct sequencer_order order = { .command = SIDRA_MGMT_SEQUENCER_CALIBRATE };
	struct sequencer_found found;
	uint32_t trimmed = 0, failed = 0;

	for (order.xbar = 0; order.xbar < xbars; order.xbar += order.count) {
		uint32_t result;

		order.count = calibrate_run(xbars - order.xbar);
		sequencer_run(&order);
		result = sequencer_found(&found);
		if (result) {
			log_number("calibrate: sequencer error", result);
			return;
		}
		trimmed += found.off;
		failed += found.failed;
	}
	log_number("calibrate: crossbars with a new trim", trimmed);
	if (failed)
		log_number("calibrate: crossbars with ADC offsets beyond the trim range", failed);
}
