/* SPDX-License-Identifier: MIT */
/*
 * What is done to many crossbars in the background: they are looked at, mended where cells have drifted, and their ADCs calibrated. One at a
 * time, and one crossbar (calibration: one run of them) a step, so that mailbox and watchdog are served in between. It outlives the core: after
 * a reset it goes on where it was.
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

/* The core has started: an operation that its end cut short goes on, unless it is what kills the core. Before anything else uses the sequencer. */
void campaign_start(void);
/* enum sidra_mailbox_status: ACCEPTED and a number, or why not. */
uint32_t campaign_begin(enum sidra_operation_kind kind, uint32_t first, uint32_t count, uint64_t tolerance_ppm, uint32_t *number);
/* By its number; 0: the last one. NULL: there is none, or it was before that. */
const struct sidra_operation *campaign_operation(uint64_t number);
uint32_t campaign_percent(const struct sidra_operation *operation);
/* enum sidra_mailbox_status. */
uint32_t campaign_abort(uint64_t number);

/* The next crossbar, if there is one. Returns whether there was. */
int campaign_step(void);

#ifdef __cplusplus
}
#endif

#endif
