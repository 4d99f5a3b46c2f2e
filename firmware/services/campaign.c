/* SPDX-License-Identifier: MIT */
#include "services/campaign.h"

#include <stddef.h>

#include "core/log.h"
#include "core/runtime.h"
#include "services/calibrate.h"
#include "sidra_hw.h"
#include "sidra_management.h"

#define DEATHS_MAX 2u /* at one crossbar; the ROM changes to the other slot after three failed starts */

static struct sidra_kept_operation kept;
static uint32_t place; /* index of the entry that holds `kept` */
/* The last operation; number 0: none since power-on. */
static struct sidra_operation *const operation = &kept.operation;

/* Overwrites the older entry, so that a reset in between leaves the newer one. */
static void keep(void)
{
	struct sidra_kept_operation *to = &runtime_operations()[place ^= 1];
	volatile uint32_t *magic = &to->magic;

	kept.magic = 0;
	kept.sequence++;
	*magic = 0;
	__asm__ volatile("" ::: "memory");
	*to = kept;
	__asm__ volatile("" ::: "memory");
	*magic = SIDRA_OPERATION_MAGIC;
}

static int whole(const struct sidra_kept_operation *one)
{
	const struct sidra_operation *of = &one->operation;

	return one->magic == SIDRA_OPERATION_MAGIC && one->size == sizeof(*one) && of->number && of->count && of->done <= of->count &&
	       of->kind <= SIDRA_OPERATION_CALIBRATE && of->first < sequencer_xbars() && of->count <= sequencer_xbars() - of->first;
}

static void end(uint32_t state, const char *text)
{
	const int calibrates = operation->kind == SIDRA_OPERATION_CALIBRATE;

	operation->state = state;
	log_number(text, operation->number);
	log_number(" crossbars", operation->done);
	log_number(calibrates ? " with a new trim" : " cells with errors", (uint32_t)operation->off);
	log_number(calibrates ? " beyond the trim range" : " of these not corrected", (uint32_t)operation->failed);
}

/* The command for the next crossbars. */
static struct sequencer_order next(void)
{
	static const uint32_t commands[] = {
		[SIDRA_OPERATION_VERIFY] = SIDRA_MGMT_SEQUENCER_VERIFY,
		[SIDRA_OPERATION_REFRESH] = SIDRA_MGMT_SEQUENCER_REFRESH,
		[SIDRA_OPERATION_CALIBRATE] = SIDRA_MGMT_SEQUENCER_CALIBRATE,
	};
	const uint32_t left = operation->count - operation->done;

	return (struct sequencer_order){
		.command = commands[operation->kind],
		.xbar = operation->first + operation->done,
		.count = operation->kind == SIDRA_OPERATION_CALIBRATE ? calibrate_run(left) : 1,
		.tolerance_ppm = operation->tolerance_ppm,
	};
}

static void add(const struct sequencer_found *found, uint32_t crossbars)
{
	static const char *const texts[] = {
		[SIDRA_OPERATION_VERIFY] = "campaign: verified, operation",
		[SIDRA_OPERATION_REFRESH] = "campaign: refreshed, operation",
		[SIDRA_OPERATION_CALIBRATE] = "campaign: calibrated, operation",
	};

	operation->cells += found->cells;
	operation->off += found->off;
	operation->failed += found->failed;
	operation->pulses += found->pulses;
	operation->error_sum += (uint64_t)found->cells * found->mean_ppm;
	operation->time_ns += found->time_ns;
	operation->energy_pj += found->energy_pj;
	if (found->worst_ppm > operation->worst_ppm)
		operation->worst_ppm = found->worst_ppm;
	operation->done += crossbars;
	if (operation->done == operation->count)
		end(SIDRA_OPERATION_DONE, texts[operation->kind]);
}

/* Processes the results of the sequencer. */
static void take(uint32_t crossbars)
{
	struct sequencer_found found;

	operation->result = sequencer_found(&found);
	kept.commands = sequencer_commands();
	kept.deaths = 0;
	if (operation->result) {
		log_number("campaign: sequencer error", operation->result);
		end(SIDRA_OPERATION_FAILED, "campaign: failed, operation");
	} else {
		add(&found, crossbars);
	}
	keep();
}

void campaign_start(void)
{
	const struct sidra_kept_operation *found = runtime_operations();
	const uint32_t reason = runtime_boot()->reason;
	struct sequencer_order order;

	kept = (struct sidra_kept_operation){ .size = sizeof(kept) };
	place = 0;
	for (uint32_t i = 0; i < 2; i++)
		/* Compare by difference, because the number may wrap. */
		if (whole(&found[i]) && (!operation->number || (int32_t)(found[i].sequence - kept.sequence) > 0)) {
			kept = found[i];
			place = i;
		}
	if (operation->state != SIDRA_OPERATION_RUNNING)
		return;
	operation->resumed++;
	/* Other resets are not caused by the operation. */
	kept.deaths += reason == SIDRA_BOOT_PANIC || reason == SIDRA_BOOT_WATCHDOG;
	if (kept.deaths > DEATHS_MAX) {
		operation->result = SIDRA_OPERATION_DEADLY;
		end(SIDRA_OPERATION_FAILED, "campaign: failed because the core crashed repeatedly, operation");
	} else {
		log_number("campaign: resumed, operation", operation->number);
	}
	keep();
	if (operation->state != SIDRA_OPERATION_RUNNING)
		return;
	/*
	 * If a reset came after the command, but before it was recorded, the command is complete, and its results are still
	 * available.
	 */
	order = next();
	if (sequencer_commands() == kept.commands + 1 && sequencer_ran(&order))
		take(order.count);
}

static int is_tolerance(enum sidra_operation_kind kind, uint64_t ppm)
{
	return kind == SIDRA_OPERATION_CALIBRATE ? ppm == 0 : ppm != 0 && ppm <= SIDRA_MGMT_ISPP_TOLERANCE_MAX;
}

uint32_t campaign_begin(enum sidra_operation_kind kind, uint32_t first, uint32_t count, uint64_t tolerance_ppm, uint32_t *number)
{
	const uint32_t xbars = sequencer_xbars();
	const uint32_t before = operation->number;

	if (operation->state == SIDRA_OPERATION_RUNNING)
		return SIDRA_MAILBOX_BUSY;
	if (count == 0 || first >= xbars || count > xbars - first || !is_tolerance(kind, tolerance_ppm))
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	*operation = (struct sidra_operation){ 0 };
	operation->number = before + 1 ? before + 1 : 1;
	operation->state = SIDRA_OPERATION_RUNNING;
	operation->kind = kind;
	operation->tolerance_ppm = (uint32_t)tolerance_ppm;
	operation->first = first;
	operation->count = count;
	kept.commands = sequencer_commands();
	kept.deaths = 0;
	keep();
	*number = operation->number;
	return SIDRA_MAILBOX_ACCEPTED;
}

const struct sidra_operation *campaign_operation(uint64_t number)
{
	return operation->number && (number == 0 || number == operation->number) ? operation : NULL;
}

uint32_t campaign_percent(const struct sidra_operation *of)
{
	return of->done * 100 / of->count;
}

uint32_t campaign_abort(uint64_t number)
{
	if (operation->state != SIDRA_OPERATION_RUNNING || number != operation->number)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	end(SIDRA_OPERATION_ABORTED, "campaign: aborted, operation");
	keep();
	return SIDRA_MAILBOX_OK;
}

int campaign_step(void)
{
	struct sequencer_order order;

	if (operation->state != SIDRA_OPERATION_RUNNING)
		return 0;
	/* Others have used the sequencer since; the next command belongs to this operation. */
	if (sequencer_commands() != kept.commands) {
		kept.commands = sequencer_commands();
		keep();
	}
	order = next();
	sequencer_run(&order);
	take(order.count);
	return 1;
}
