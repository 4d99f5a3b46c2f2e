/* SPDX-License-Identifier: MIT */
/* Background operations of the firmware, in the format of OP_QUERY: docs/firmware.md. */
#ifndef SIDRA_OPERATION_H
#define SIDRA_OPERATION_H

#include <stdint.h>

enum sidra_operation_kind {
	SIDRA_OPERATION_VERIFY		= 0,	/* reads only */
	SIDRA_OPERATION_REFRESH		= 1,	/* reprograms cells with errors */
	SIDRA_OPERATION_CALIBRATE	= 2	/* trims ADCs */
};

enum sidra_operation_state {
	SIDRA_OPERATION_RUNNING	= 1,
	SIDRA_OPERATION_DONE	= 2,
	SIDRA_OPERATION_ABORTED	= 3,	/* by OP_ABORT, between two crossbars */
	SIDRA_OPERATION_FAILED	= 4	/* at crossbar first + done; `result` has the reason */
};

#define SIDRA_OPERATION_DEADLY	0x100u	/* a `result` of the firmware: the core crashed repeatedly at this crossbar */

struct sidra_operation {
	uint32_t number;	/* not 0 */
	uint32_t state;		/* enum sidra_operation_state */
	uint32_t kind;		/* enum sidra_operation_kind */
	uint32_t tolerance_ppm;
	uint32_t first, count;	/* crossbars */
	uint32_t done;		/* number of completed crossbars */
	uint32_t result;	/* enum sidra_mgmt_result of the last crossbar, or DEADLY */
	uint64_t cells;		/* programmed cells, total; CALIBRATE: crossbars */
	uint64_t off;		/* of these: with an error above the tolerance; CALIBRATE: with a new trim */
	uint64_t failed;	/* of these: not corrected; CALIBRATE: beyond the range of a trim */
	uint64_t pulses;
	uint64_t error_sum;	/* sum over crossbars of their cells times their mean error, millionths of G_max */
	uint64_t time_ns;
	uint64_t energy_pj;
	uint32_t worst_ppm;	/* CALIBRATE: the largest offset, in units of a sum */
	uint32_t resumed;	/* number of resumptions after the core had restarted */
};

#define SIDRA_OPERATION_MAGIC	0x504f4453u	/* "SDOP" */

/**
 * struct sidra_kept_operation - the state of the last operation, in RAM that survives resets, but not power-off
 * @magic:    SIDRA_OPERATION_MAGIC; any other value: incomplete
 * @size:     size of this struct
 * @sequence: one more than in the other entry
 * @commands: the sequencer's count when this was written. If the count is now one more, the next crossbar is already done
 * @deaths:   number of panics or watchdog resets at the next crossbar
 *
 * The two entries at SIDRA_BOOT_OPERATIONS are written in turn: the newest complete one is current, whenever a reset occurs.
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
