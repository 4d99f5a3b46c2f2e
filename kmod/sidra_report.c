// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_report.h"

#define CELLS	(SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS)
#define MILLION	1000000u

int sidra_report_vet(struct sidra_hw_xbar_report *report, u64 uid, u32 tile, u32 rows)
{
	const struct sidra_hw_xbar_report claimed = *report;

	if (le16_to_cpu(claimed.level) > SIDRA_XBAR_PULSED ||
	    le32_to_cpu(claimed.stuck_cells) > CELLS)
		return -EIO;
	if (le64_to_cpu(claimed.uid) != uid) {
		*report = (struct sidra_hw_xbar_report){
			.programs = claimed.programs,
			.level = claimed.level,
			.stuck_cells = claimed.stuck_cells,
		};
		return 0;
	}
	if (le32_to_cpu(claimed.tile) != tile || le16_to_cpu(claimed.programmed_rows) > rows ||
	    le32_to_cpu(claimed.spare_columns) > SIDRA_XBAR_COLS ||
	    le32_to_cpu(claimed.bad_cells) > CELLS || le32_to_cpu(claimed.error_ppm) > MILLION ||
	    le32_to_cpu(claimed.drift_ppm) > MILLION)
		return -EIO;
	return 0;
}

void sidra_report_translate(const struct sidra_hw_xbar_report *from, struct sidra_weights_tile *to)
{
	unsigned int i;

	*to = (struct sidra_weights_tile){
		.programs = le32_to_cpu(from->programs),
		.level = le16_to_cpu(from->level),
		.programmed_rows = le16_to_cpu(from->programmed_rows),
		.stuck_cells = le32_to_cpu(from->stuck_cells),
		.spare_columns = le32_to_cpu(from->spare_columns),
		.error_ppm = le32_to_cpu(from->error_ppm),
		.drift_ppm = le32_to_cpu(from->drift_ppm),
		.bad_cells = le32_to_cpu(from->bad_cells),
		.age_s = le64_to_cpu(from->age_s),
		.failed = le64_to_cpu(from->failed),
		.recovered = le64_to_cpu(from->recovered),
		.set_pulses = le64_to_cpu(from->set_pulses),
		.reset_pulses = le64_to_cpu(from->reset_pulses),
		.reads = le64_to_cpu(from->reads),
		.device_ps = le64_to_cpu(from->device_ps),
		.energy_pj = le64_to_cpu(from->energy_pj),
		.clipped = le64_to_cpu(from->clipped),
		.adc_range = le64_to_cpu(from->adc_range),
	};
	for (i = 0; i < ARRAY_SIZE(to->arrived); i++)
		to->arrived[i] = le64_to_cpu(from->arrived[i]);
}
