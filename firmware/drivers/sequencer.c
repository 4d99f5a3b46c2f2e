/* SPDX-License-Identifier: MIT */
#include "drivers/sequencer.h"

#include "drivers/registers.h"
#include "sidra_management.h"

uint32_t sequencer_xbars(void)
{
	return read_register(SIDRA_MGMT_SEQUENCER_XBARS);
}

uint32_t sequencer_commands(void)
{
	return read_register(SIDRA_MGMT_SEQUENCER_COMMANDS);
}

void sequencer_run(const struct sequencer_order *order)
{
	write_register(SIDRA_MGMT_SEQUENCER_XBAR, order->xbar);
	write_register(SIDRA_MGMT_SEQUENCER_COUNT, order->count);
	write_register(SIDRA_MGMT_SEQUENCER_TOLERANCE, order->tolerance_ppm);
	write_register(SIDRA_MGMT_SEQUENCER_COMMAND, order->command);
}

int sequencer_ran(const struct sequencer_order *order)
{
	return read_register(SIDRA_MGMT_SEQUENCER_COMMAND) == order->command && read_register(SIDRA_MGMT_SEQUENCER_XBAR) == order->xbar &&
	       read_register(SIDRA_MGMT_SEQUENCER_COUNT) == order->count &&
	       read_register(SIDRA_MGMT_SEQUENCER_TOLERANCE) == order->tolerance_ppm;
}

uint32_t sequencer_found(struct sequencer_found *found)
{
	found->cells = read_register(SIDRA_MGMT_SEQUENCER_CELLS);
	found->off = read_register(SIDRA_MGMT_SEQUENCER_OFF);
	found->failed = read_register(SIDRA_MGMT_SEQUENCER_FAILED);
	found->pulses = read_register(SIDRA_MGMT_SEQUENCER_PULSES);
	found->worst_ppm = read_register(SIDRA_MGMT_SEQUENCER_WORST);
	found->mean_ppm = read_register(SIDRA_MGMT_SEQUENCER_MEAN);
	found->time_ns = read_register(SIDRA_MGMT_SEQUENCER_TIME_NS);
	found->energy_pj = read_register(SIDRA_MGMT_SEQUENCER_ENERGY_PJ);
	return read_register(SIDRA_MGMT_SEQUENCER_RESULT);
}

void sequencer_policy(struct sequencer_policy *policy)
{
	policy->mode = read_register(SIDRA_MGMT_ISPP_MODE);
	policy->tries = read_register(SIDRA_MGMT_ISPP_TRIES);
	policy->tolerance_ppm = read_register(SIDRA_MGMT_ISPP_TOLERANCE);
	policy->retries = read_register(SIDRA_MGMT_ISPP_RETRIES);
	policy->spare = read_register(SIDRA_MGMT_ISPP_SPARE);
}

static void write_policy(const struct sequencer_policy *policy)
{
	write_register(SIDRA_MGMT_ISPP_MODE, policy->mode);
	write_register(SIDRA_MGMT_ISPP_TRIES, policy->tries);
	write_register(SIDRA_MGMT_ISPP_TOLERANCE, policy->tolerance_ppm);
	write_register(SIDRA_MGMT_ISPP_RETRIES, policy->retries);
	write_register(SIDRA_MGMT_ISPP_SPARE, policy->spare);
}

int sequencer_set_policy(const struct sequencer_policy *policy)
{
	struct sequencer_policy before, now;

	sequencer_policy(&before);
	write_policy(policy);
	sequencer_policy(&now);
	if (now.mode == policy->mode && now.tries == policy->tries && now.tolerance_ppm == policy->tolerance_ppm &&
	    now.retries == policy->retries && now.spare == policy->spare)
		return 0;
	write_policy(&before);
	return 1;
}
