// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_report.h"

#define CELLS	(SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS)
#define MILLION	1000000u

int sidra_report_vet(struct sidra_hw_xbar_report *report, u64 uid, u32 tile, u32 rows)
{
	const struct sidra_hw_xbar_report claimed = *report;

	if (claimed.level > SIDRA_XBAR_PULSED || claimed.stuck_cells > CELLS)
		return -EIO;
	if (claimed.uid != uid) {
		*report = (struct sidra_hw_xbar_report){
			.programs = claimed.programs,
			.level = claimed.level,
			.stuck_cells = claimed.stuck_cells,
		};
		return 0;
	}
	if (claimed.tile != tile || claimed.programmed_rows > rows || claimed.spare_columns > SIDRA_XBAR_COLS ||
	    claimed.bad_cells > CELLS || claimed.error_ppm > MILLION || claimed.drift_ppm > MILLION)
		return -EIO;
	/* A later chip may use these fields; this driver cannot check them. */
	memset(report->reserved0, 0, sizeof(report->reserved0));
	memset(report->reserved1, 0, sizeof(report->reserved1));
	return 0;
}
