/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Names of the registers in sidra_hw.h. The driver's debugfs files and sidra-reg use these names.
 *
 * X(NAME, bytes, access); access is what debugfs allows while the driver uses the chip:
 *   R   read
 *   RW  read and write, because the driver does not depend on the register
 *   W   write; reads 0
 *   NONE  no access; only the driver uses the register
 * Without a driver, all registers may be read and written.
 */
#ifndef SIDRA_REG_H
#define SIDRA_REG_H

#include "sidra_hw.h"

#define SIDRA_REGISTERS(X) \
	X(ID, 4, R) \
	X(HW_VERSION, 4, R) \
	X(FEATURES, 8, R) \
	X(GEOMETRY0, 4, R) \
	X(GEOMETRY1, 4, R) \
	X(GEOMETRY2, 4, R) \
	X(LIMITS0, 4, R) \
	X(LIMITS1, 4, R) \
	X(VA_BITS, 4, R) \
	X(L1_SIZE, 4, R) \
	X(L2_SIZE, 4, R) \
	X(L3_SIZE, 8, R) \
	X(NVM_SIZE, 8, R) \
	X(STATUS, 4, R) \
	X(BOOT_REASON, 4, R) \
	X(HEARTBEAT, 4, R) \
	X(PANIC, 4, R) \
	X(GENERATION, 4, R) \
	X(SCRATCH, 4, RW) \
	X(CLOCK, 8, R) \
	X(CONTROL, 4, R) \
	X(RESET, 4, NONE) \
	X(INT_STATUS, 4, R) \
	X(INT_ENABLE, 4, R) \
	X(CONTEXT_TABLE, 8, R) \
	X(TEST_IRQ, 4, W) \
	X(ADMIN_ARG0, 8, NONE) \
	X(ADMIN_ARG1, 8, NONE) \
	X(ADMIN_ARG2, 8, NONE) \
	X(ADMIN_CMD, 4, NONE) \
	X(ADMIN_STATUS, 4, R) \
	X(MAILBOX_REQUEST, 8, R) \
	X(MAILBOX_REPLY, 8, R) \
	X(MAILBOX_ENTRIES, 4, R) \
	X(MAILBOX_DOORBELL, 4, R) \
	X(MAILBOX_REPLY_INDEX, 4, R) \
	X(MAILBOX_REPLY_READ, 4, R)

#endif /* SIDRA_REG_H */
