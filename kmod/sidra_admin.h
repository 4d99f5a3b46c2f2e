/* SPDX-License-Identifier: GPL-2.0-only */
/* Admin commands: the driver's requests to the chip, one at a time. */
#ifndef __SIDRA_ADMIN_H__
#define __SIDRA_ADMIN_H__

#include <linux/types.h>

struct sidra_device;

extern unsigned int sidra_admin_timeout_ms;	/* a module parameter, which tests shorten */

/*
 * For a call that is about to give a command, and cannot turn back then: waits until nobody else's
 * command is in progress, or a fatal signal comes: 0 or -EINTR.
 */
int sidra_admin_await_turn(struct sidra_device *sdev);

/*
 * The device is being removed: no command waits longer than a moment for its acknowledgement any
 * more, and none begins except those of sidra_quiesce().
 */
void sidra_admin_hurry(struct sidra_device *sdev);

/*
 * Executes an admin command; the caller holds sidra_chip.admin_lock. Returns enum
 * sidra_admin_result, or -ETIMEDOUT, -EBUSY (an earlier command has not ended), -EIO (the device
 * is isolated, and will be reset) or -ENODEV.
 */
int sidra_admin_raw(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2);

/*
 * The same, but a timeout isolates the device and requests its recovery. Returns 0, -EIO or
 * -ENODEV, that also if the device is being removed. The caller holds sidra_device.reset_lock;
 * sidra_admin() takes the other lock itself, sidra_admin_locked() leaves that to callers that also
 * use sidra_chip.bounce.
 */
int sidra_admin(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2);
int sidra_admin_locked(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2);

/*
 * Only a reset ends a command that the chip does not acknowledge: isolates the device, and requests
 * its recovery. The caller holds sidra_chip.admin_lock, and has taken a dump, unless the device is
 * being removed, which needs none.
 */
void sidra_admin_give_up(struct sidra_device *sdev);

#endif
