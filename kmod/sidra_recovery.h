/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery of contexts and of the device. A chip that does not do what it was told is dealt with in
 * two halves. The call that finds out does the first half, because it frees pages when it returns,
 * and no DMA may reach them then: sidra_quiesce() resets the context, or else isolates the device;
 * sidra_admin_locked() isolates it for commands without a context, and sidra_submit_watchdog() for
 * fences. Each requests the second half, which a work item does while nobody is in a call: contexts
 * and device are reset, and their owners are told. Calls wait for it before they begin and before
 * they return. The functions from sidra_recover() on are called under sidra_device.reset_lock, held
 * exclusively.
 */
#ifndef __SIDRA_RECOVERY_H__
#define __SIDRA_RECOVERY_H__

#include <sidra_accel.h>

#include "sidra_device.h"

void sidra_recovery_init(struct sidra_device *sdev);
/* The device is being removed: ends the work item, and wakes who waits for it. */
void sidra_recovery_stop(struct sidra_device *sdev);

/*
 * Checks the link, and does what was requested: contexts that the chip has reset are lost, an
 * isolated device is reset, and so is one whose link was lost or has come back. Returns 0, or
 * -ENODEV while the link is gone; every context is lost then.
 */
int sidra_recover(struct sidra_device *sdev);

/* Sets the context table, and enables interrupts, queues and firmware. */
void sidra_enable_device(struct sidra_device *sdev);

/*
 * Resets the chip, with bus mastering off meanwhile. Every context is lost, with @cause in the
 * fault records. On return no earlier work is in flight.
 */
void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause);

/*
 * Stops the device, until sidra_resume_device() if ever: every context is lost, and the chip is
 * reset if it answers, and cannot access memory. Calls fail with -ENODEV, or wait while the device
 * is held.
 */
void sidra_stop_device(struct sidra_device *sdev);
/*
 * The same, but contexts whose queues drain in time are not lost, and continue afterwards; see
 * sidra_queue_drained().
 */
void sidra_suspend_device(struct sidra_device *sdev);
/*
 * Resumes after a suspend or bus reset: 0, or -ENODEV if the chip does not become ready; then every
 * context is lost.
 */
int sidra_resume_device(struct sidra_device *sdev);

#endif
