/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Telemetry and crossbars of a chip: the driver publishes them in sysfs, a chip in a process in a file (sidra_publish.h). Everything is
 * little-endian.
 */
#ifndef SIDRA_MONITOR_H
#define SIDRA_MONITOR_H

#include "sidra_state.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_TELEMETRY_MAGIC	0x4c544453u	/* "SDTL" */
#define SIDRA_TELEMETRY_VERSION	1u

/* Which fields hold measurements. The others are zero, which is not a measurement. */
#define SIDRA_TELEMETRY_HAS_COUNTERS	(1ull << 0)
#define SIDRA_TELEMETRY_HAS_THERMAL	(1ull << 1)	/* firmware */
#define SIDRA_TELEMETRY_HAS_POWER	(1ull << 2)	/* firmware */
#define SIDRA_TELEMETRY_HAS_LIMITS	(1ull << 3)	/* firmware */

/**
 * struct sidra_telemetry - counters since power-on, and sensors; values never decrease where nothing else is said
 *
 * The page is a snapshot: reading the word at offset 0 takes it, and the other words return it; before the first one they are
 * zero. Readers must be serialised.
 *
 * @magic, @version, @size: SIDRA_TELEMETRY_MAGIC, SIDRA_TELEMETRY_VERSION, sizeof
 * @valid:     SIDRA_TELEMETRY_HAS_*
 * @clock_ns:  device clock when the snapshot was taken
 * @packets:   retired ring packets; @calls_packets: packets executed inside CALLs
 * @faults:    queue faults
 * @doorbells, @arms, @mmio_reads, @mmio_writes: accesses to BAR0 (a doorbell or ARM also counts as an MMIO write)
 * @interrupts: MSI-X messages raised
 * @mvms:      crossbar operations (one vector through one crossbar)
 * @macs:      multiply-accumulate operations of used cells
 * @vec_elements, @copy_bytes, @programmed_cells: work done
 * @device_ps, @energy_pj: sum over all queues (cost model), and the firmware's operations on cells
 * @busy_ns:   wall time in which at least one engine worked
 * @dma_errors: transfers refused by the host
 * @xbars_total, @xbars_programmed: crossbars
 * @contexts, @queues: loaded now (may decrease)
 * @temperature_mc, @power_mw, @clock_khz: sensors (may decrease); valid with THERMAL, POWER
 *
 * Since 1.2, if @size includes them:
 * @engine_ns: wall time in which packets were executed, by enum sidra_hw_engine; the times of concurrent queues are added
 * @pulses, @reads, @failed_cells: of programming; zero if cells are exact
 * @clipped:   number of sums of products that were clipped, because they exceeded the range of the ADCs
 * @stuck_cells, @spare_columns: of all crossbars, now (may decrease)
 * @status, @generation, @boot_reason, @heartbeat, @panic: the registers of these names
 * @temperature_max_mc: the firmware lowers the clock from this temperature on; @temperature_crit_mc: the chip takes the lowest clock by
 *             itself
 * @power_limit_mw: limit in force; @power_limit_min_mw, @power_limit_max_mw: range in which it can be set
 * @clock_max_khz: frequency of the highest clock level
 * @throttles: how often the clock was lowered. All from @temperature_max_mc to here (may decrease) are valid with LIMITS
 * @calibrated_ns: device clock when the firmware last calibrated ADCs; 0: never
 * @untrimmed_xbars: crossbars whose ADCs needed more correction than a trim can give at that time (may decrease)
 */
struct sidra_telemetry {
	uint32_t magic;
	uint16_t version;
	uint16_t size;
	uint64_t valid;
	uint64_t clock_ns;
	uint64_t packets;
	uint64_t call_packets;
	uint64_t faults;
	uint64_t doorbells;
	uint64_t arms;
	uint64_t mmio_reads;
	uint64_t mmio_writes;
	uint64_t interrupts;
	uint64_t mvms;
	uint64_t macs;
	uint64_t vec_elements;
	uint64_t copy_bytes;
	uint64_t programmed_cells;
	uint64_t device_ps;
	uint64_t energy_pj;
	uint64_t busy_ns;
	uint64_t dma_errors;
	uint32_t xbars_total;
	uint32_t xbars_programmed;
	uint32_t contexts;
	uint32_t queues;
	int32_t  temperature_mc;
	uint32_t power_mw;
	uint32_t clock_khz;
	uint32_t reserved0;
	uint64_t engine_ns[SIDRA_ENGINE_TIMES];
	uint64_t pulses;
	uint64_t reads;
	uint64_t failed_cells;
	uint64_t clipped;
	uint64_t stuck_cells;
	uint64_t spare_columns;
	uint32_t status;
	uint32_t generation;
	uint32_t boot_reason;
	uint32_t heartbeat;
	uint32_t panic;
	int32_t  temperature_max_mc;
	int32_t  temperature_crit_mc;
	uint32_t power_limit_mw;
	uint32_t power_limit_min_mw;
	uint32_t power_limit_max_mw;
	uint32_t clock_max_khz;
	uint32_t throttles;
	uint64_t calibrated_ns;
	uint32_t untrimmed_xbars;
	uint32_t reserved1;
	uint64_t reserved2[22];
};

/**
 * struct sidra_hw_xbar - non-volatile header of a crossbar, as XBAR_READ returns it
 * @uid:             object that programmed it last; 0: erased
 * @tile:            number of its tile in that object's grid
 * @programs:        number of PROGRAM operations so far, saturating (wear)
 * @programmed_rows: number of rows that hold valid weights of @uid
 * @stuck_cells:     number of cells that are known to be stuck
 */
struct sidra_hw_xbar {
	uint64_t uid;
	uint32_t tile;
	uint32_t programs;
	uint16_t programmed_rows;
	uint16_t reserved0;
	uint32_t stuck_cells;
	uint64_t reserved1;
};

SIDRA_ASSERT_SIZE(struct sidra_telemetry, 512);
SIDRA_ASSERT_AT(struct sidra_telemetry, packets, 24);
SIDRA_ASSERT_AT(struct sidra_telemetry, xbars_total, 160);
SIDRA_ASSERT_AT(struct sidra_telemetry, engine_ns, 192);
SIDRA_ASSERT_AT(struct sidra_telemetry, status, 272);
SIDRA_ASSERT_AT(struct sidra_telemetry, calibrated_ns, 320);
SIDRA_ASSERT_SIZE(struct sidra_hw_xbar, 32);
SIDRA_ASSERT_AT(struct sidra_hw_xbar, programmed_rows, 16);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_MONITOR_H */
