/* SPDX-License-Identifier: MIT */
/*
 * Background operations on many crossbars: verify cells, refresh cells that have drifted, calibrate ADCs. One operation at a
 * time, one crossbar (for calibration, one cluster) per step, so that mailbox and watchdog are served in between. An operation
 * continues after a reset of the core.
 */
#ifndef SIDRA_FIRMWARE_CAMPAIGN_H
#define SIDRA_FIRMWARE_CAMPAIGN_H

#include <stdint.h>

#include "drivers/sequencer.h"
#include "sidra_operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* First word of SIDRA_MAILBOX_ISPP_CAMPAIGN. */
enum campaign_what {
	CAMPAIGN_GET_POLICY = 0,
	CAMPAIGN_SET_POLICY = 1,
	CAMPAIGN_VERIFY = 2
};

/*
 * Called at the start of the core, before anything else uses the sequencer. Continues an interrupted operation, unless the
 * operation crashes the core.
 */
void campaign_start(void);
/* Returns an enum sidra_mailbox_status: ACCEPTED and a number, or an error. */
uint32_t campaign_begin(enum sidra_operation_kind kind, uint32_t first, uint32_t count, uint64_t tolerance_ppm, uint32_t *number);
/* Finds an operation by its number; 0: the last one. NULL: there is none, or it is not the last one. */
const struct sidra_operation *campaign_operation(uint64_t number);
uint32_t campaign_percent(const struct sidra_operation *operation);
/* Returns an enum sidra_mailbox_status. */
uint32_t campaign_abort(uint64_t number);

/* Processes the next crossbar. Returns whether there was one. */
int campaign_step(void);

#ifdef __cplusplus
}
#endif

#endif
