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
	if (claimed.tile != tile || claimed.programmed_rows > rows ||
	    claimed.spare_columns > SIDRA_XBAR_COLS || claimed.bad_cells > CELLS ||
	    claimed.error_ppm > MILLION || claimed.drift_ppm > MILLION)
		return -EIO;
	return 0;
}

void sidra_report_translate(const struct sidra_hw_xbar_report *from, struct sidra_weights_tile *to)
{
	*to = (struct sidra_weights_tile){
		.programs = from->programs,
		.level = from->level,
		.programmed_rows = from->programmed_rows,
		.stuck_cells = from->stuck_cells,
		.spare_columns = from->spare_columns,
		.error_ppm = from->error_ppm,
		.drift_ppm = from->drift_ppm,
		.bad_cells = from->bad_cells,
		.age_s = from->age_s,
		.failed = from->failed,
		.recovered = from->recovered,
		.set_pulses = from->set_pulses,
		.reset_pulses = from->reset_pulses,
		.reads = from->reads,
		.device_ps = from->device_ps,
		.energy_pj = from->energy_pj,
		.clipped = from->clipped,
		.adc_range = from->adc_range,
	};
	memcpy(to->arrived, from->arrived, sizeof(to->arrived));
}
