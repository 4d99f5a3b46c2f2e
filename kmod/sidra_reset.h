/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_RESET_H__
#define __SIDRA_RESET_H__

#include <sidra_accel.h>

struct sidra_device;

/*
 * Resets the chip, with bus mastering off meanwhile. Every context is lost, with @cause in the
 * fault records. On return no earlier work is in flight. The caller holds sidra_device.lock.
 */
void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause);

/*
 * The last resort for a fence whose deadline passed long ago, while sidra_device.lock is held by
 * somebody who may wait for that fence. Takes only locks that a fence may depend on. Afterwards no
 * DMA of the chip reaches memory, and the next sidra_check_link() resets the device.
 */
void sidra_cut_device(struct sidra_device *sdev);

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
