/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Telemetry and crossbars of a chip: the driver publishes them in sysfs, a chip in a process in a
 * file (sidra_publish.h). Everything is little-endian.
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
 * struct sidra_telemetry - counters since power-on, and sensors; values never decrease where
 * nothing else is said
 * @magic: SIDRA_TELEMETRY_MAGIC
 * @version: SIDRA_TELEMETRY_VERSION
 * @size: size of the struct in bytes, as the chip has it
 * @valid: SIDRA_TELEMETRY_HAS_*: which fields hold measurements now
 * @clock_ns: device clock when the snapshot was taken, in nanoseconds
 * @packets: retired ring packets
 * @call_packets: packets executed inside CALLs
 * @faults: queue faults
 * @doorbells: doorbells rung, each a write to BAR0
 * @arms: writes of ARM values to BAR0
 * @mmio_reads: reads of BAR0
 * @mmio_writes: writes to BAR0, with those that are doorbells and ARM values
 * @interrupts: MSI-X messages raised
 * @mvms: crossbar operations (one vector through one crossbar)
 * @macs: multiply-accumulate operations of crossbars, one for each weight and vector
 * @vec_elements: elements that the programs of VECTOR, MATMUL and LAYER packets computed, and that
 *                POOL and SORT packets combined or sorted
 * @copy_bytes: bytes that COPY and FILL packets wrote
 * @programmed_cells: cells that PROGRAM packets covered, and cells that were pulsed again because
 *                    they had left their levels
 * @device_ps: device time of all queues (cost model) and of the firmware's operations on cells, in
 *             picoseconds
 * @energy_pj: energy of all queues (cost model) and of the firmware's operations on cells, in
 *             picojoules
 * @busy_ns: wall time in which at least one engine worked, in nanoseconds
 * @dma_errors: transfers refused by the host
 * @xbars_total: crossbars of the chip
 * @xbars_programmed: crossbars that hold a tile of an object, now (may decrease)
 * @contexts: contexts that are loaded now (may decrease)
 * @queues: queues that are loaded now (may decrease)
 * @temperature_mc: temperature of the die, in thousandths of a degree Celsius (may decrease); valid
 *                  with THERMAL
 * @power_mw: power, in milliwatts (may decrease); valid with POWER
 * @clock_khz: frequency of the clock, in kilohertz (may decrease); valid with POWER
 * @reserved0: zero
 * @engine_ns: wall time in which packets were executed, in nanoseconds, by enum sidra_hw_engine;
 *             the times of concurrent queues are added
 * @pulses: pulses of programming; zero if cells are exact
 * @reads: reads of cells by programming; zero if cells are exact
 * @failed_cells: cells that did not converge when they were programmed; zero if cells are exact
 * @clipped: number of sums of products that were clipped, because they exceeded the range of the
 *           ADCs
 * @stuck_cells: cells of all crossbars that are known to be stuck, now (may decrease)
 * @spare_columns: columns of all crossbars that are replaced by spare columns, now (may decrease)
 * @status: register STATUS: SIDRA_STATUS_*
 * @generation: register GENERATION: device resets and FLRs so far
 * @boot_reason: register BOOT_REASON: enum sidra_boot_reason
 * @heartbeat: register HEARTBEAT; 0 without firmware
 * @panic: register PANIC: the firmware's panic code; 0: none
 * @temperature_max_mc: temperature from which on the firmware lowers the clock, in thousandths of a
 *                      degree Celsius (may decrease); valid with LIMITS, like all fields up to
 *                      @throttles
 * @temperature_crit_mc: temperature from which on the chip takes the lowest clock by itself, in
 *                       thousandths of a degree Celsius (may decrease)
 * @power_limit_mw: power limit in force, in milliwatts (may decrease)
 * @power_limit_min_mw: lowest power limit that can be set, in milliwatts (may decrease)
 * @power_limit_max_mw: highest power limit that can be set, in milliwatts (may decrease)
 * @clock_max_khz: frequency of the highest clock level, in kilohertz (may decrease)
 * @throttles: how often the clock was lowered (may decrease)
 * @calibrated_ns: device clock when the firmware last calibrated ADCs, in nanoseconds; 0: never
 * @untrimmed_xbars: crossbars whose ADCs needed more correction than a trim can give at that time
 *                   (may decrease)
 * @reserved1: zero
 * @reserved2: zero
 *
 * The page is a snapshot: reading the word at offset 0 takes it, and the other words return it;
 * before the first one they are zero. Readers must be serialised.
 */
struct sidra_telemetry {
	sidra_le32  magic;
	sidra_le16  version;
	sidra_le16  size;
	sidra_le64  valid;
	sidra_le64  clock_ns;
	sidra_le64  packets;
	sidra_le64  call_packets;
	sidra_le64  faults;
	sidra_le64  doorbells;
	sidra_le64  arms;
	sidra_le64  mmio_reads;
	sidra_le64  mmio_writes;
	sidra_le64  interrupts;
	sidra_le64  mvms;
	sidra_le64  macs;
	sidra_le64  vec_elements;
	sidra_le64  copy_bytes;
	sidra_le64  programmed_cells;
	sidra_le64  device_ps;
	sidra_le64  energy_pj;
	sidra_le64  busy_ns;
	sidra_le64  dma_errors;
	sidra_le32  xbars_total;
	sidra_le32  xbars_programmed;
	sidra_le32  contexts;
	sidra_le32  queues;
	sidra_les32 temperature_mc;
	sidra_le32  power_mw;
	sidra_le32  clock_khz;
	sidra_le32  reserved0;
	sidra_le64  engine_ns[SIDRA_ENGINE_TIMES];
	sidra_le64  pulses;
	sidra_le64  reads;
	sidra_le64  failed_cells;
	sidra_le64  clipped;
	sidra_le64  stuck_cells;
	sidra_le64  spare_columns;
	sidra_le32  status;
	sidra_le32  generation;
	sidra_le32  boot_reason;
	sidra_le32  heartbeat;
	sidra_le32  panic;
	sidra_les32 temperature_max_mc;
	sidra_les32 temperature_crit_mc;
	sidra_le32  power_limit_mw;
	sidra_le32  power_limit_min_mw;
	sidra_le32  power_limit_max_mw;
	sidra_le32  clock_max_khz;
	sidra_le32  throttles;
	sidra_le64  calibrated_ns;
	sidra_le32  untrimmed_xbars;
	sidra_le32  reserved1;
	sidra_le64  reserved2[22];
};

/**
 * struct sidra_hw_xbar - non-volatile header of a crossbar, as XBAR_READ returns it
 * @uid: object that programmed it last; 0: erased
 * @tile: number of its tile in that object's grid
 * @programs: number of PROGRAM operations so far, saturating (wear)
 * @programmed_rows: number of rows that hold valid weights of @uid
 * @reserved0: zero
 * @stuck_cells: number of cells that are known to be stuck
 * @reserved1: zero
 */
struct sidra_hw_xbar {
	sidra_le64 uid;
	sidra_le32 tile;
	sidra_le32 programs;
	sidra_le16 programmed_rows;
	sidra_le16 reserved0;
	sidra_le32 stuck_cells;
	sidra_le64 reserved1;
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
