/* SPDX-License-Identifier: MIT */
/* What the firmware does in the background, as OP_QUERY gives it: docs/firmware.md. */
#ifndef SIDRA_OPERATION_H
#define SIDRA_OPERATION_H

#include <stdint.h>

enum sidra_operation_kind {
	SIDRA_OPERATION_VERIFY		= 0,	/* looks only */
	SIDRA_OPERATION_REFRESH		= 1,	/* pulses what is off */
	SIDRA_OPERATION_CALIBRATE	= 2	/* trims ADCs */
};

enum sidra_operation_state {
	SIDRA_OPERATION_RUNNING	= 1,
	SIDRA_OPERATION_DONE	= 2,
	SIDRA_OPERATION_ABORTED	= 3,	/* by OP_ABORT, at a crossbar's end */
	SIDRA_OPERATION_FAILED	= 4	/* at crossbar first + done; `result` says why */
};

#define SIDRA_OPERATION_DEADLY	0x100u	/* a `result` of no block: again and again the core did not live through that crossbar */

struct sidra_operation {
	uint32_t number;	/* not 0 */
	uint32_t state;		/* enum sidra_operation_state */
	uint32_t kind;		/* enum sidra_operation_kind */
	uint32_t tolerance_ppm;
	uint32_t first, count;	/* crossbars */
	uint32_t done;		/* of those */
	uint32_t result;	/* enum sidra_mgmt_result, of the last one, or DEADLY */
	uint64_t cells;		/* programmed ones, all in all; CALIBRATE: crossbars */
	uint64_t off;		/* of those: by more than the tolerance; CALIBRATE: whose trim is another one now */
	uint64_t failed;	/* of those: not mended; CALIBRATE: which a trim does not reach */
	uint64_t pulses;
	uint64_t error_sum;	/* cells times the mean error of their crossbar, millionths of G_max */
	uint64_t time_ns;
	uint64_t energy_pj;
	uint32_t worst_ppm;	/* CALIBRATE: the largest offset, in units of a sum */
	uint32_t resumed;	/* how often, after the core had started anew */
};

#define SIDRA_OPERATION_MAGIC	0x504f4453u	/* "SDOP" */

/**
 * struct sidra_kept_operation - what is known of the last operation, in RAM that survives resets, but not power-off
 * @magic:    SIDRA_OPERATION_MAGIC; anything else: it is not whole
 * @size:     of this struct
 * @sequence: one more than that of the other one
 * @commands: the sequencer's, when this was written: one more by now, and the next crossbar is done already
 * @deaths:   of the core, by panic or watchdog, at the next crossbar
 *
 * There are two, at SIDRA_BOOT_OPERATIONS, written in turn: the newest whole one counts, wherever a reset comes.
 */
struct sidra_kept_operation {
	uint32_t magic;
	uint32_t size;
	uint32_t sequence;
	uint32_t commands;
	struct sidra_operation operation;
	uint32_t deaths;
	uint32_t reserved;
};

#endif
