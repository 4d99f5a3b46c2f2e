// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_report.h"

#define CELLS	(SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS)
#define MILLION	1000000u

int sidra_report_vet(struct sidra_hw_xbar_report *report, u64 uid, u32 tile, u32 rows)
{
	const struct sidra_hw_xbar_report told = *report;

	if (told.level > SIDRA_XBAR_PULSED || told.stuck_cells > CELLS)
		return -EIO;
	if (told.uid != uid) {
		*report = (struct sidra_hw_xbar_report){
			.programs = told.programs,
			.level = told.level,
			.stuck_cells = told.stuck_cells,
		};
		return 0;
	}
	if (told.tile != tile || told.programmed_rows > rows || told.spare_columns > SIDRA_XBAR_COLS || told.bad_cells > CELLS ||
	    told.error_ppm > MILLION || told.drift_ppm > MILLION)
		return -EIO;
	/* What a later chip says there, this driver does not know. */
	memset(report->reserved0, 0, sizeof(report->reserved0));
	memset(report->reserved1, 0, sizeof(report->reserved1));
	return 0;
}
