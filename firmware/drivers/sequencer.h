/* SPDX-License-Identifier: MIT */
/* Driver of the crossbar sequencer (sidra_management.h). */
#ifndef SIDRA_FIRMWARE_SEQUENCER_H
#define SIDRA_FIRMWARE_SEQUENCER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sequencer_policy {
	uint32_t mode, tries, tolerance_ppm, retries, spare;
};

/*
 * @command: SIDRA_MGMT_SEQUENCER_*; @count: number of crossbars from @xbar on, for CALIBRATE; @tolerance_ppm: for the other
 * commands
 */
struct sequencer_order {
	uint32_t command, xbar, count, tolerance_ppm;
};

struct sequencer_found {
	uint32_t cells, off, failed, pulses, worst_ppm, mean_ppm, time_ns, energy_pj;
};

uint32_t sequencer_xbars(void);
void sequencer_run(const struct sequencer_order *order);
/* Whether this was the last command, even if the core has restarted since. */
int sequencer_ran(const struct sequencer_order *order);
/* Gets the results of the last command, even if the core has restarted since. Returns 0, or an enum sidra_mgmt_result. */
uint32_t sequencer_found(struct sequencer_found *found);
/* Number of commands since power-on. */
uint32_t sequencer_commands(void);

void sequencer_policy(struct sequencer_policy *policy);
/* Sets the whole policy. Returns 1 and changes nothing if a value is out of range. */
int sequencer_set_policy(const struct sequencer_policy *policy);

#ifdef __cplusplus
}
#endif

#endif
