/* SPDX-License-Identifier: MIT */
/*
 * What the management core sees: its memory, and the registers of the blocks around it. The contract of firmware/ and of the chip
 * (qemu-device/chip/management); hosts see uapi/sidra_hw.h. All of it is our decision, but for sizes and clock of the core (RV32IM at 100 MHz, 64 KiB
 * ROM, 256 KiB RAM), which are public facts about Y1.
 *
 * Rules
 * - Registers are 32 bits and take aligned 32-bit accesses. Anything else, and what is not listed, is an access fault.
 * - A command is done when the store that gives it has retired: the core stands still for as long as it takes, in device time. Its result is
 *   enum sidra_mgmt_result, and nothing has changed unless it is OK or DIFFERENT.
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
	SIDRA_MGMT_DIFFERENT	= 1,	/* VERIFY: the signature is not of that */
	SIDRA_MGMT_BAD_COMMAND	= 2,
	SIDRA_MGMT_BAD_RANGE	= 3,	/* not in RAM or flash as a whole, too much at once, or empty */
	SIDRA_MGMT_BUS_ERROR	= 4,	/* COPY: the host refused; some of it may have been stored */
	SIDRA_MGMT_READ_ONLY	= 5,	/* FLASH: the recovery slot */
	SIDRA_MGMT_NOT_KEPT	= 6	/* FLASH, SEQUENCER: the host has no room for what is to survive power-off */
};

/* ---- System: what hosts see of the core, and why it runs -------------------------------------------------------- */

#define SIDRA_MGMT_SYSTEM_ID		0x40000000u	/* SIDRA_ID_MAGIC */
#define SIDRA_MGMT_SYSTEM_REASON	0x40000004u	/* enum sidra_boot_reason */
#define SIDRA_MGMT_SYSTEM_STAGE		0x40000008u	/* enum sidra_boot_stage, for SIDRA_REG_STATUS */
#define SIDRA_MGMT_SYSTEM_HEARTBEAT	0x4000000cu	/* for SIDRA_REG_HEARTBEAT */
#define SIDRA_MGMT_SYSTEM_PANIC		0x40000010u	/* a code, not 0, for SIDRA_REG_PANIC: the core stops until it is reset, by the watchdog if that runs */
#define SIDRA_MGMT_SYSTEM_SECURITY	0x40000014u	/* lowest security version that may boot; a write raises it, for ever */
#define SIDRA_MGMT_SYSTEM_RESTART	0x40000018u	/* write enum sidra_boot_reason: the core starts anew, in its ROM */

/* ---- Timer: cycles since power-on ------------------------------------------------------------------------------- */

#define SIDRA_MGMT_TIMER_NOW		0x40001000u	/* low half; latches the high one */
#define SIDRA_MGMT_TIMER_NOW_HIGH	0x40001004u
#define SIDRA_MGMT_TIMER_COMPARE	0x40001008u	/* timer interrupt while now >= compare; all ones after a reset. Write the high half */
#define SIDRA_MGMT_TIMER_COMPARE_HIGH	0x4000100cu	/* as ones first, so that no mixture of two values is ever due */

/* ---- Interrupts: the external one while PENDING & ENABLE -------------------------------------------------------- */

#define SIDRA_MGMT_IRQ_PENDING		0x40002000u	/* SIDRA_MGMT_IRQ_*; write 1 to clear */
#define SIDRA_MGMT_IRQ_ENABLE		0x40002004u
#define   SIDRA_MGMT_IRQ_MAILBOX	(1u << 0)	/* the host rang the mailbox */
#define   SIDRA_MGMT_IRQ_WATCHDOG	(1u << 1)	/* half of the watchdog's time is over */
#define   SIDRA_MGMT_IRQ_ALL		3u

/* ---- Watchdog: starts the core anew when it was not fed ---------------------------------------------------------- */

#define SIDRA_MGMT_WATCHDOG_PERIOD	0x40003000u	/* cycles; 0: off, as after a reset. A write feeds it, too */
#define SIDRA_MGMT_WATCHDOG_FEED	0x40003004u	/* write SIDRA_MGMT_WATCHDOG_FOOD */
#define   SIDRA_MGMT_WATCHDOG_FOOD	0x46454544u	/* "FEED" */

/* ---- Copy: between the host's memory and RAM -------------------------------------------------------------------- */

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
#define   SIDRA_MGMT_VERIFY_BEGIN	1u		/* of a SHA-256 */
#define   SIDRA_MGMT_VERIFY_ADD		2u		/* those bytes */
#define   SIDRA_MGMT_VERIFY_END		3u		/* DIGEST holds it */
#define   SIDRA_MGMT_VERIFY_SIGNATURE	4u		/* whether SIGNATURE is that of KEY for those bytes: OK or DIFFERENT */
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
#define   SIDRA_MGMT_FLASH_ERASE	2u		/* the sector at OFFSET: all ones */
#define   SIDRA_MGMT_FLASH_PROGRAM	3u		/* clears bits; sets none */
#define SIDRA_MGMT_FLASH_RESULT		0x40006010u

#define SIDRA_MGMT_FLASH_SIZE		0x00100000u
#define SIDRA_MGMT_FLASH_SECTOR		0x00001000u
#define SIDRA_MGMT_FLASH_RECORD		0x00000000u	/* SIDRA_MGMT_FLASH_RECORDS sectors, written in turn */
#define SIDRA_MGMT_FLASH_RECORDS	2u
#define SIDRA_MGMT_FLASH_SLOT(n)	(0x00010000u + (n) * SIDRA_MGMT_FLASH_SLOT_SIZE)
#define SIDRA_MGMT_FLASH_SLOT_SIZE	0x00050000u
#define SIDRA_MGMT_SLOT_A		0u
#define SIDRA_MGMT_SLOT_B		1u
#define SIDRA_MGMT_SLOT_RECOVERY	2u		/* filled at the factory, read-only */

/* ---- Mailbox: the host's registers, as it wrote them ------------------------------------------------------------ */

#define SIDRA_MGMT_MAILBOX_REQUEST	0x40007000u	/* bus address of the request ring, low half */
#define SIDRA_MGMT_MAILBOX_REQUEST_HIGH	0x40007004u
#define SIDRA_MGMT_MAILBOX_REPLY	0x40007008u
#define SIDRA_MGMT_MAILBOX_REPLY_HIGH	0x4000700cu
#define SIDRA_MGMT_MAILBOX_ENTRIES	0x40007010u
#define SIDRA_MGMT_MAILBOX_DOORBELL	0x40007014u	/* request write index */
#define SIDRA_MGMT_MAILBOX_REPLY_READ	0x40007018u
#define SIDRA_MGMT_MAILBOX_REPLY_INDEX	0x4000701cu	/* written here: for the host, which gets SIDRA_INT_MAILBOX */

/* ---- Sensors: of the die, and of all that the chip draws ------------------------------------------------------------ */

#define SIDRA_MGMT_SENSOR_TEMPERATURE	0x40008000u	/* signed, thousandths of a degree Celsius */
#define SIDRA_MGMT_SENSOR_POWER		0x40008004u	/* mW, the mean since this was read last */
#define SIDRA_MGMT_SENSOR_ENERGY	0x40008008u	/* microjoules since power-on, low half; latches the high one */
#define SIDRA_MGMT_SENSOR_ENERGY_HIGH	0x4000800cu
#define SIDRA_MGMT_SENSOR_CRITICAL	0x40008010u	/* as TEMPERATURE: from here on the chip takes the lowest clock by itself, */
#define SIDRA_MGMT_SENSOR_TRIPPED	0x40008014u	/* and says 1 here, until it is well below; each change raises SIDRA_INT_THERMAL */

/* ---- Clock of everything but this core and the arrays; stays when the core starts anew -------------------------------- */

#define SIDRA_MGMT_CLOCK_LEVELS		4u		/* 100, 250, 500, 1000 MHz (public) */
#define SIDRA_MGMT_CLOCK_LEVEL		0x40009000u	/* the one that is wanted: 0 .. LEVELS - 1, else as before; the highest at power-on */
#define SIDRA_MGMT_CLOCK_KHZ		0x40009004u	/* as it runs */
#define SIDRA_MGMT_CLOCK_MILLIVOLT	0x40009008u	/* supply that goes with that */
#define SIDRA_MGMT_CLOCK_THROTTLED	0x4000900cu	/* 1: lower than the host wants it, for heat or a limit; SIDRA_STATUS_THROTTLED. A change raises SIDRA_INT_THERMAL */

/* ---- Telemetry: for the host's page -------------------------------------------------------------------------------------- */

#define SIDRA_MGMT_TELEMETRY_TEMPERATURE 0x4000a000u
#define SIDRA_MGMT_TELEMETRY_POWER	0x4000a004u
#define SIDRA_MGMT_TELEMETRY_CLOCK	0x4000a008u	/* kHz */
#define SIDRA_MGMT_TELEMETRY_VALID	0x4000a00cu	/* SIDRA_TELEMETRY_HAS_*: those are shown, for a second, or until the core starts anew */
#define SIDRA_MGMT_TELEMETRY_TEMPERATURE_MAX 0x4000a010u /* from here on the clock is taken down */
#define SIDRA_MGMT_TELEMETRY_LIMIT	0x4000a014u	/* of power, mW */
#define SIDRA_MGMT_TELEMETRY_LIMIT_MIN	0x4000a018u	/* between which it can be set */
#define SIDRA_MGMT_TELEMETRY_LIMIT_MAX	0x4000a01cu
#define SIDRA_MGMT_TELEMETRY_CLOCK_MAX	0x4000a020u	/* kHz */
#define SIDRA_MGMT_TELEMETRY_THROTTLES	0x4000a024u	/* how often the clock was taken down */
#define SIDRA_MGMT_TELEMETRY_WORDS	9u		/* but for VALID */

/*
 * ---- Sequencer: looks at the cells of one crossbar, and pulses them; trims the ADCs of several. All of it stays when the core starts anew:
 * what the last command was and has found, too, so nothing need be done twice ----------------------------------------------------------
 */

#define SIDRA_MGMT_SEQUENCER		0x4000b000u
#define SIDRA_MGMT_SEQUENCER_SIZE	0x00001000u
#define SIDRA_MGMT_SEQUENCER_XBARS	0x4000b000u	/* how many there are */
#define SIDRA_MGMT_SEQUENCER_XBAR	0x4000b004u
#define SIDRA_MGMT_SEQUENCER_TOLERANCE	0x4000b008u	/* 1 .. SIDRA_MGMT_ISPP_TOLERANCE_MAX, millionths of G_max */
#define SIDRA_MGMT_SEQUENCER_COMMAND	0x4000b00cu	/* reads as the last one */
#define   SIDRA_MGMT_SEQUENCER_VERIFY	1u		/* reads the cells that are programmed, and compares them with their levels */
#define   SIDRA_MGMT_SEQUENCER_REFRESH	2u		/* the same, and pulses again those that are off by more than the tolerance */
#define   SIDRA_MGMT_SEQUENCER_CALIBRATE 3u		/* measures what the ADCs of COUNT crossbars are off by, side by side, and trims them */
#define SIDRA_MGMT_SEQUENCER_RESULT	0x4000b010u	/* and what the last command has found; nothing programmed: no cells, and OK */
#define SIDRA_MGMT_SEQUENCER_CELLS	0x4000b014u	/* CALIBRATE: crossbars */
#define SIDRA_MGMT_SEQUENCER_OFF	0x4000b018u	/* by more than the tolerance; CALIBRATE: crossbars whose trim is another one now */
#define SIDRA_MGMT_SEQUENCER_FAILED	0x4000b01cu	/* off, and not mended by as many pulses as the policy allows; CALIBRATE: trims at their ends */
#define SIDRA_MGMT_SEQUENCER_PULSES	0x4000b020u
#define SIDRA_MGMT_SEQUENCER_WORST	0x4000b024u	/* error as read, millionths of G_max; CALIBRATE: the largest offset, without its sign */
#define SIDRA_MGMT_SEQUENCER_MEAN	0x4000b028u	/* of errors without their signs, the same */
#define SIDRA_MGMT_SEQUENCER_TIME_NS	0x4000b02cu
#define SIDRA_MGMT_SEQUENCER_ENERGY_PJ	0x4000b030u
#define SIDRA_MGMT_SEQUENCER_RESULTS	9u
#define SIDRA_MGMT_SEQUENCER_COMMANDS	0x4000b034u	/* given since power-on */
#define SIDRA_MGMT_SEQUENCER_COUNT	0x4000b038u	/* crossbars of CALIBRATE, from XBAR on; the others take one */
#define SIDRA_MGMT_SEQUENCER_TRIM_MAX	1023u		/* ends of a trim, which is added to each sum of a tile; one there is taken for too small */

/*
 * How cells are programmed, by PROGRAM packets, too. As below at power-on. What is out of range is not
 * taken: the register stays as it was.
 */
#define SIDRA_MGMT_ISPP_MODE		0x4000b040u
#define   SIDRA_MGMT_ISPP_AS_PUBLISHED	0u
#define   SIDRA_MGMT_ISPP_STEP_BACK	1u
#define   SIDRA_MGMT_ISPP_ERROR_SIZED	2u		/* at power-on */
#define SIDRA_MGMT_ISPP_TRIES		0x4000b044u	/* pulses a cell, 1 .. SIDRA_MGMT_ISPP_TRIES_MAX; 15 */
#define   SIDRA_MGMT_ISPP_TRIES_MAX	64u
#define SIDRA_MGMT_ISPP_TOLERANCE	0x4000b048u	/* within which a cell has arrived, millionths of G_max; 10,000 */
#define   SIDRA_MGMT_ISPP_TOLERANCE_MIN	1000u
#define   SIDRA_MGMT_ISPP_TOLERANCE_MAX	100000u
#define SIDRA_MGMT_ISPP_RETRIES		0x4000b04cu	/* of cells that did not arrive, each after a RESET, 0 .. SIDRA_MGMT_ISPP_RETRIES_MAX; 1 */
#define   SIDRA_MGMT_ISPP_RETRIES_MAX	7u
#define SIDRA_MGMT_ISPP_SPARE		0x4000b050u	/* a column (pair of columns) with more bad cells than that is replaced by one that is not in use; 4 */
#define   SIDRA_MGMT_ISPP_SPARE_NEVER	512u		/* the most: no column has that many */

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_MANAGEMENT_H */
