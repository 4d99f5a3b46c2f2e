/* SPDX-License-Identifier: MIT */
/*
 * The management core's memory map and the registers of the blocks around it: the contract between firmware/ and the chip
 * (qemu-device/chip/management). For hosts see uapi/sidra_hw.h. All of it is our decision, except the memory sizes and the clock
 * of the core (RV32IM at 100 MHz, 64 KiB ROM, 256 KiB RAM), which are public facts about Y1.
 *
 * Rules
 * - Registers are 32 bits wide and require aligned 32-bit accesses. Other accesses, and unlisted addresses, cause an access
 *   fault.
 * - A command is complete when the store to its register retires: the core stalls for the duration of the command, in device
 *   time. The result is an enum sidra_mgmt_result; unless it is OK or DIFFERENT, nothing has changed.
 * - Local addresses are addresses in the core's RAM.
 */
#ifndef SIDRA_MANAGEMENT_H
#define SIDRA_MANAGEMENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_MGMT_ROM			0x00000000u
#define SIDRA_MGMT_ROM_SIZE		0x00010000u
#define SIDRA_MGMT_RAM			0x10000000u
#define SIDRA_MGMT_RAM_SIZE		0x00040000u
#define SIDRA_MGMT_CYCLE_NS		10u

enum sidra_mgmt_result {
	SIDRA_MGMT_OK		= 0,
	SIDRA_MGMT_DIFFERENT	= 1,	/* VERIFY: the signature is not valid */
	SIDRA_MGMT_BAD_COMMAND	= 2,
	SIDRA_MGMT_BAD_RANGE	= 3,	/* not completely inside RAM or flash, too large, or empty */
	SIDRA_MGMT_BUS_ERROR	= 4,	/* COPY: the host refused the transfer; part of it may have been stored */
	SIDRA_MGMT_READ_ONLY	= 5,	/* FLASH: the recovery slot */
	SIDRA_MGMT_NOT_KEPT	= 6	/* FLASH, SEQUENCER: the host cannot store data that must survive power-off */
};

/* ---- System: the core's state for hosts, and the reason of its start -------------------------------------------- */

#define SIDRA_MGMT_SYSTEM_ID		0x40000000u	/* SIDRA_ID_MAGIC */
#define SIDRA_MGMT_SYSTEM_REASON	0x40000004u	/* enum sidra_boot_reason */
#define SIDRA_MGMT_SYSTEM_STAGE		0x40000008u	/* enum sidra_boot_stage, for SIDRA_REG_STATUS */
#define SIDRA_MGMT_SYSTEM_HEARTBEAT	0x4000000cu	/* for SIDRA_REG_HEARTBEAT */
#define SIDRA_MGMT_SYSTEM_PANIC		0x40000010u	/* a code other than 0, for SIDRA_REG_PANIC: stops the core until it is
							   reset, by the watchdog if enabled */
#define SIDRA_MGMT_SYSTEM_SECURITY	0x40000014u	/* lowest security version that may boot; writes can only raise it */
#define SIDRA_MGMT_SYSTEM_RESTART	0x40000018u	/* write enum sidra_boot_reason: restarts the core in its ROM */

/* ---- Timer: cycles since power-on ------------------------------------------------------------------------------- */

#define SIDRA_MGMT_TIMER_NOW		0x40001000u	/* low half; latches the high half */
#define SIDRA_MGMT_TIMER_NOW_HIGH	0x40001004u
#define SIDRA_MGMT_TIMER_COMPARE	0x40001008u	/* timer interrupt while now >= compare; all ones after a reset */
#define SIDRA_MGMT_TIMER_COMPARE_HIGH	0x4000100cu	/* to change COMPARE, write all ones here first: no mixture is due */

/* ---- Interrupts: the external interrupt is pending while PENDING & ENABLE ---------------------------------------- */

#define SIDRA_MGMT_IRQ_PENDING		0x40002000u	/* SIDRA_MGMT_IRQ_*; write 1 to clear */
#define SIDRA_MGMT_IRQ_ENABLE		0x40002004u
#define   SIDRA_MGMT_IRQ_MAILBOX	(1u << 0)	/* the host wrote the mailbox doorbell */
#define   SIDRA_MGMT_IRQ_WATCHDOG	(1u << 1)	/* half of the watchdog period has passed */
#define   SIDRA_MGMT_IRQ_ALL		3u

/* ---- Watchdog: restarts the core if it is not fed in time --------------------------------------------------------- */

#define SIDRA_MGMT_WATCHDOG_PERIOD	0x40003000u	/* cycles; 0: off, as after a reset. A write also feeds it */
#define SIDRA_MGMT_WATCHDOG_FEED	0x40003004u	/* write SIDRA_MGMT_WATCHDOG_FOOD */
#define   SIDRA_MGMT_WATCHDOG_FOOD	0x46454544u	/* "FEED" */

/* ---- Copy: transfers between the host's memory and RAM ------------------------------------------------------------ */

#define SIDRA_MGMT_COPY_BUS		0x40004000u	/* bus address, low half */
#define SIDRA_MGMT_COPY_BUS_HIGH	0x40004004u
#define SIDRA_MGMT_COPY_LOCAL		0x40004008u
#define SIDRA_MGMT_COPY_BYTES		0x4000400cu	/* 1 .. SIDRA_MGMT_COPY_MAX */
#define   SIDRA_MGMT_COPY_MAX		65536u
#define SIDRA_MGMT_COPY_COMMAND		0x40004010u
#define   SIDRA_MGMT_COPY_FROM_HOST	1u
#define   SIDRA_MGMT_COPY_TO_HOST	2u
#define SIDRA_MGMT_COPY_RESULT		0x40004014u

/* ---- Verify: SHA-256 (FIPS 180-4) and Ed25519 (RFC 8032) ---------------------------------------------------------- */

#define SIDRA_MGMT_VERIFY_ADDRESS	0x40005000u	/* RAM or ROM */
#define SIDRA_MGMT_VERIFY_BYTES		0x40005004u
#define SIDRA_MGMT_VERIFY_COMMAND	0x40005008u
#define   SIDRA_MGMT_VERIFY_BEGIN	1u		/* begins a SHA-256 */
#define   SIDRA_MGMT_VERIFY_ADD		2u		/* adds BYTES at ADDRESS */
#define   SIDRA_MGMT_VERIFY_END		3u		/* stores the result in DIGEST */
#define   SIDRA_MGMT_VERIFY_SIGNATURE	4u		/* whether SIG is a valid signature by KEY over these bytes: OK or
							   DIFFERENT */
#define SIDRA_MGMT_VERIFY_RESULT	0x4000500cu
#define SIDRA_MGMT_VERIFY_DIGEST	0x40005020u	/* 8 words */
#define SIDRA_MGMT_VERIFY_KEY		0x40005040u	/* 8 words, public */
#define SIDRA_MGMT_VERIFY_SIG		0x40005080u	/* 16 words */

/* ---- Flash: boot record, two slots for images, and the recovery image ------------------------------------------- */

#define SIDRA_MGMT_FLASH_OFFSET		0x40006000u
#define SIDRA_MGMT_FLASH_LOCAL		0x40006004u
#define SIDRA_MGMT_FLASH_BYTES		0x40006008u	/* 1 .. SIDRA_MGMT_FLASH_SECTOR for PROGRAM */
#define SIDRA_MGMT_FLASH_COMMAND	0x4000600cu
#define   SIDRA_MGMT_FLASH_READ		1u
#define   SIDRA_MGMT_FLASH_ERASE	2u		/* sets the sector at OFFSET to all ones */
#define   SIDRA_MGMT_FLASH_PROGRAM	3u		/* clears bits; cannot set bits */
#define SIDRA_MGMT_FLASH_RESULT		0x40006010u

#define SIDRA_MGMT_FLASH_SIZE		0x00100000u
#define SIDRA_MGMT_FLASH_SECTOR		0x00001000u
#define SIDRA_MGMT_FLASH_RECORD		0x00000000u	/* SIDRA_MGMT_FLASH_RECORDS sectors, used in turn */
#define SIDRA_MGMT_FLASH_RECORDS	2u
#define SIDRA_MGMT_FLASH_SLOT(n)	(0x00010000u + (n) * SIDRA_MGMT_FLASH_SLOT_SIZE)
#define SIDRA_MGMT_FLASH_SLOT_SIZE	0x00050000u
#define SIDRA_MGMT_SLOT_A		0u
#define SIDRA_MGMT_SLOT_B		1u
#define SIDRA_MGMT_SLOT_RECOVERY	2u		/* filled at the factory, read-only */

/* ---- Mailbox: the host's registers as written by the host ---------------------------------------------------------- */

#define SIDRA_MGMT_MAILBOX_REQUEST	0x40007000u	/* bus address of the request ring, low half */
#define SIDRA_MGMT_MAILBOX_REQUEST_HIGH	0x40007004u
#define SIDRA_MGMT_MAILBOX_REPLY	0x40007008u
#define SIDRA_MGMT_MAILBOX_REPLY_HIGH	0x4000700cu
#define SIDRA_MGMT_MAILBOX_ENTRIES	0x40007010u
#define SIDRA_MGMT_MAILBOX_DOORBELL	0x40007014u	/* request write index */
#define SIDRA_MGMT_MAILBOX_REPLY_READ	0x40007018u
#define SIDRA_MGMT_MAILBOX_REPLY_INDEX	0x4000701cu	/* written by the firmware; raises SIDRA_INT_MAILBOX */

/* ---- Sensors: temperature of the die, and power of the whole chip --------------------------------------------------- */

#define SIDRA_MGMT_SENSOR_TEMPERATURE	0x40008000u	/* signed, thousandths of a degree Celsius */
#define SIDRA_MGMT_SENSOR_POWER		0x40008004u	/* mW, average since the last read */
#define SIDRA_MGMT_SENSOR_ENERGY	0x40008008u	/* microjoules since power-on, low half; latches the high half */
#define SIDRA_MGMT_SENSOR_ENERGY_HIGH	0x4000800cu
#define SIDRA_MGMT_SENSOR_CRITICAL	0x40008010u	/* unit of TEMPERATURE: from this temperature on, the chip selects the
							   lowest clock by itself */
#define SIDRA_MGMT_SENSOR_TRIPPED	0x40008014u	/* 1: it has done so, until it is well below; each change raises
							   SIDRA_INT_THERMAL */

/* ---- Clock of everything except this core and the arrays; unchanged when the core restarts --------------------------- */

#define SIDRA_MGMT_CLOCK_LEVELS		4u		/* 100, 250, 500, 1000 MHz (public) */
#define SIDRA_MGMT_CLOCK_LEVEL		0x40009000u	/* requested level: 0 .. LEVELS - 1, other values are ignored; the
							   highest at power-on */
#define SIDRA_MGMT_CLOCK_KHZ		0x40009004u	/* current frequency */
#define SIDRA_MGMT_CLOCK_MILLIVOLT	0x40009008u	/* supply voltage at this frequency */
#define SIDRA_MGMT_CLOCK_THROTTLED	0x4000900cu	/* 1: below the level that the host requests, because of heat or a
							   limit; SIDRA_STATUS_THROTTLED. Changes raise SIDRA_INT_THERMAL */

/* ---- Telemetry: values for the host's telemetry page ------------------------------------------------------------------- */

#define SIDRA_MGMT_TELEMETRY_TEMPERATURE 0x4000a000u
#define SIDRA_MGMT_TELEMETRY_POWER	0x4000a004u
#define SIDRA_MGMT_TELEMETRY_CLOCK	0x4000a008u	/* kHz */
#define SIDRA_MGMT_TELEMETRY_VALID	0x4000a00cu	/* SIDRA_TELEMETRY_HAS_*: these are shown for one second, or until the
							   core restarts */
#define SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX 0x4000a010u /* throttling starts at this temperature */
#define SIDRA_MGMT_TELEMETRY_LIMIT	0x4000a014u	/* power limit, mW */
#define SIDRA_MGMT_TELEMETRY_LIMIT_MIN	0x4000a018u	/* range of the limit */
#define SIDRA_MGMT_TELEMETRY_LIMIT_MAX	0x4000a01cu
#define SIDRA_MGMT_TELEMETRY_CLOCK_MAX	0x4000a020u	/* kHz */
#define SIDRA_MGMT_TELEMETRY_THROTTLES	0x4000a024u	/* number of throttling steps */
#define SIDRA_MGMT_TELEMETRY_WORDS	9u		/* without VALID */

/*
 * ---- Sequencer: verifies and reprograms the cells of one crossbar; trims the ADCs of several. Its registers keep their values
 * when the core restarts, including the last command and its results, so no work need be repeated ----
 */

#define SIDRA_MGMT_SEQUENCER		0x4000b000u
#define SIDRA_MGMT_SEQUENCER_SIZE	0x00001000u
#define SIDRA_MGMT_SEQUENCER_XBARS	0x4000b000u	/* number of crossbars */
#define SIDRA_MGMT_SEQUENCER_XBAR	0x4000b004u
#define SIDRA_MGMT_SEQUENCER_TOLERANCE	0x4000b008u	/* 1 .. SIDRA_MGMT_ISPP_TOLERANCE_MAX, millionths of G_max */
#define SIDRA_MGMT_SEQUENCER_COMMAND	0x4000b00cu	/* reads as the last command */
#define   SIDRA_MGMT_SEQUENCER_VERIFY	1u		/* reads the programmed cells, and compares them with their levels */
#define   SIDRA_MGMT_SEQUENCER_REFRESH	2u		/* the same, and reprograms cells whose error exceeds the tolerance */
#define   SIDRA_MGMT_SEQUENCER_CALIBRATE 3u		/* measures the ADC offsets of COUNT crossbars in parallel, and sets
							   their trims */
#define SIDRA_MGMT_SEQUENCER_RESULT	0x4000b010u	/* result of the last command; if nothing is programmed: OK, with no
							   cells */
#define SIDRA_MGMT_SEQUENCER_CELLS	0x4000b014u	/* CALIBRATE: crossbars */
#define SIDRA_MGMT_SEQUENCER_OFF	0x4000b018u	/* cells whose error exceeds the tolerance; CALIBRATE: crossbars whose
							   trim has changed */
#define SIDRA_MGMT_SEQUENCER_FAILED	0x4000b01cu	/* of these: not corrected with the pulses that the policy allows;
							   CALIBRATE: trims at their limit */
#define SIDRA_MGMT_SEQUENCER_PULSES	0x4000b020u
#define SIDRA_MGMT_SEQUENCER_WORST	0x4000b024u	/* largest error as read, millionths of G_max; CALIBRATE: the largest
							   absolute offset */
#define SIDRA_MGMT_SEQUENCER_MEAN	0x4000b028u	/* mean absolute error, same unit */
#define SIDRA_MGMT_SEQUENCER_TIME_NS	0x4000b02cu
#define SIDRA_MGMT_SEQUENCER_ENERGY_PJ	0x4000b030u
#define SIDRA_MGMT_SEQUENCER_RESULTS	9u
#define SIDRA_MGMT_SEQUENCER_COMMANDS	0x4000b034u	/* number of commands since power-on */
#define SIDRA_MGMT_SEQUENCER_COUNT	0x4000b038u	/* number of crossbars for CALIBRATE, from XBAR on; the other commands
							   process one */
#define SIDRA_MGMT_SEQUENCER_TRIM_MAX	1023u		/* limit of a trim, which is added to each sum of a tile; a trim at the
							   limit counts as insufficient */

/*
 * How cells are programmed, including by PROGRAM packets. The comments give the values at power-on. A value out of range is
 * ignored.
 */
#define SIDRA_MGMT_ISPP_MODE		0x4000b040u
#define   SIDRA_MGMT_ISPP_AS_PUBLISHED	0u
#define   SIDRA_MGMT_ISPP_STEP_BACK	1u
#define   SIDRA_MGMT_ISPP_ERROR_SIZED	2u		/* at power-on */
#define SIDRA_MGMT_ISPP_TRIES		0x4000b044u	/* pulses per cell, 1 .. SIDRA_MGMT_ISPP_TRIES_MAX; 15 */
#define   SIDRA_MGMT_ISPP_TRIES_MAX	64u
#define SIDRA_MGMT_ISPP_TOLERANCE	0x4000b048u	/* a cell within this tolerance has converged, millionths of G_max;
							   10,000 */
#define   SIDRA_MGMT_ISPP_TOLERANCE_MIN	1000u
#define   SIDRA_MGMT_ISPP_TOLERANCE_MAX	100000u
#define SIDRA_MGMT_ISPP_RETRIES		0x4000b04cu	/* retries of cells that did not converge, each after a RESET, 0 ..
							   SIDRA_MGMT_ISPP_RETRIES_MAX; 1 */
#define   SIDRA_MGMT_ISPP_RETRIES_MAX	7u
#define SIDRA_MGMT_ISPP_SPARE		0x4000b050u	/* a column (or pair of columns) with more bad cells than this is
							   replaced by an unused one; 4 */
#define   SIDRA_MGMT_ISPP_SPARE_NEVER	512u		/* the maximum: no column has that many */

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_MANAGEMENT_H */
