/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_RESET_H__
#define __SIDRA_RESET_H__

#include <sidra_accel.h>

struct sidra_device;

/*
 * Every context is lost, with this cause for its queues; the chip starts anew, with bus mastering off meanwhile. On
 * return nothing that it was told before is in flight. Under sidra_device.lock.
 */
void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause);

/*
 * The last resort of a fence whose deadline is long over, because somebody does not let go of sidra_device.lock: takes
 * only locks that a fence may wait for. Nothing of the chip arrives in memory afterwards; sidra_check_link() finishes it,
 * by a reset of the device.
 */
void sidra_cut_device(struct sidra_device *sdev);

/*
 * Until sidra_resume_device(), if that ever comes: every context is lost, the chip is reset if it still answers, and
 * does not reach memory; calls answer -ENODEV, or wait if it is held.
 */
void sidra_stop_device(struct sidra_device *sdev);
/* The same, but contexts whose queues run empty, wait or have stopped in time are not lost: they go on afterwards. */
void sidra_suspend_device(struct sidra_device *sdev);
/* After a suspend or a reset by the bus: 0, or -ENODEV if the chip is not there; then every context is lost. */
int sidra_resume_device(struct sidra_device *sdev);

#endif
