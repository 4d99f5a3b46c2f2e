/* SPDX-License-Identifier: MIT */
#include "services/campaign.h"

#include <stddef.h>

#include "core/log.h"
#include "sidra_hw.h"
#include "sidra_management.h"

static struct sidra_operation operation; /* the last one; number 0: there was none since the core started */

uint32_t campaign_begin(int refresh, uint32_t first, uint32_t count, uint64_t tolerance_ppm, uint32_t *number)
{
	const uint32_t xbars = sequencer_xbars();
	const uint32_t before = operation.number;

	if (operation.state == SIDRA_OPERATION_RUNNING)
		return SIDRA_MAILBOX_BUSY;
	if (count == 0 || first >= xbars || count > xbars - first || tolerance_ppm == 0 || tolerance_ppm > SIDRA_MGMT_ISPP_TOLERANCE_MAX)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	operation = (struct sidra_operation){ 0 };
	operation.number = before + 1 ? before + 1 : 1;
	operation.state = SIDRA_OPERATION_RUNNING;
	operation.refresh = refresh != 0;
	operation.tolerance_ppm = (uint32_t)tolerance_ppm;
	operation.first = first;
	operation.count = count;
	*number = operation.number;
	return SIDRA_MAILBOX_ACCEPTED;
}

const struct sidra_operation *campaign_operation(uint64_t number)
{
	return operation.number && (number == 0 || number == operation.number) ? &operation : NULL;
}

uint32_t campaign_percent(const struct sidra_operation *of)
{
	return of->done * 100 / of->count;
}

static void end(uint32_t state, const char *text)
{
	operation.state = state;
	log_number(text, operation.number);
	log_number(" crossbars", operation.done);
	log_number(" cells off", (uint32_t)operation.off);
	log_number(" of those not mended", (uint32_t)operation.failed);
}

uint32_t campaign_abort(uint64_t number)
{
	if (operation.state != SIDRA_OPERATION_RUNNING || number != operation.number)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	end(SIDRA_OPERATION_ABORTED, "campaign: aborted, operation");
	return SIDRA_MAILBOX_OK;
}

int campaign_step(void)
{
	struct sequencer_found found;

	if (operation.state != SIDRA_OPERATION_RUNNING)
		return 0;
	operation.result = sequencer_run((int)operation.refresh, operation.first + operation.done, operation.tolerance_ppm, &found);
	if (operation.result) {
		log_number("campaign: sequencer says", operation.result);
		end(SIDRA_OPERATION_FAILED, "campaign: failed, operation");
		return 1;
	}
	operation.cells += found.cells;
	operation.off += found.off;
	operation.failed += found.failed;
	operation.pulses += found.pulses;
	operation.error_sum += (uint64_t)found.cells * found.mean_ppm;
	operation.time_ns += found.time_ns;
	operation.energy_pj += found.energy_pj;
	if (found.worst_ppm > operation.worst_ppm)
		operation.worst_ppm = found.worst_ppm;
	if (++operation.done == operation.count)
		end(SIDRA_OPERATION_DONE, operation.refresh ? "campaign: refreshed, operation" : "campaign: verified, operation");
	return 1;
}
