// SPDX-License-Identifier: GPL-2.0-only
#include <linux/moduleparam.h>

#include "sidra_admin.h"
#include "sidra_coredump.h"
#include "sidra_device.h"
#include "sidra_mutex.h"
#include "sidra_reset.h"
#include "sidra_trace.h"

#define ADMIN_RECHECK_MS	10	/* the delay that a lost interrupt causes */
/*
 * A chip that works acknowledges a command in this time, and the removal resets any other. Except
 * a write to the flash memory, which may take longer, and whose end the caller has to know.
 */
#define ADMIN_REMOVAL_MS	20

unsigned int sidra_admin_timeout_ms = 1000;
module_param_named(admin_timeout_ms, sidra_admin_timeout_ms, uint, 0644);
MODULE_PARM_DESC(admin_timeout_ms, "timeout of an admin command (ms)");

int sidra_admin_await_turn(struct sidra_device *sdev)
{
	CLASS(sidra_mutex, held)(&sdev->chip.admin_lock);
	return held.error;
}

void sidra_admin_hurry(struct sidra_device *sdev)
{
	WRITE_ONCE(sdev->removing, true);
	complete(&sdev->chip.admin_done);	/* who waits looks at it now */
}

int sidra_admin_raw(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2)
{
	unsigned long begin = jiffies;
	unsigned long end = begin + msecs_to_jiffies(sidra_admin_timeout_ms) + 1;
	unsigned long removal_end = begin + msecs_to_jiffies(ADMIN_REMOVAL_MS) + 1;
	struct sidra_chip *chip = &sdev->chip;
	int ret;

	lockdep_assert_held(&sdev->reset_lock);
	lockdep_assert_held(&chip->admin_lock);
	lockdep_assert_not_held(&sdev->store.lock);	/* nobody waits for the chip under it */
	if (sdev->stopped)
		return -ENODEV;
	if (READ_ONCE(sdev->isolated))
		return -EIO;	/* a reset follows */
	if (++chip->admin_tag == 0)
		chip->admin_tag = 1;
	chip->admin_op = op;
	reinit_completion(&chip->admin_done);
	sidra_write64(sdev, SIDRA_REG_ADMIN_ARG0, arg0);
	sidra_write64(sdev, SIDRA_REG_ADMIN_ARG1, arg1);
	sidra_write64(sdev, SIDRA_REG_ADMIN_ARG2, arg2);
	sidra_write32(sdev, SIDRA_REG_ADMIN_CMD, op | (u32)chip->admin_tag << 16);
	for (;;) {
		bool late = time_after(jiffies, end) ||
			(READ_ONCE(sdev->removing) && op != SIDRA_ADMIN_NVM_WRITE &&
			 time_after(jiffies, removal_end));
		u32 status;

		wait_for_completion_timeout(&chip->admin_done, msecs_to_jiffies(ADMIN_RECHECK_MS));
		status = sidra_read32(sdev, SIDRA_REG_ADMIN_STATUS);
		if ((status == ~0u || status == 0) && !sidra_chip_answers(sdev))
			ret = -ENODEV;
		else if (status >> 16 != chip->admin_tag && (status & SIDRA_ADMIN_BUSY))
			ret = -EBUSY;
		else if (status >> 16 == chip->admin_tag && !(status & SIDRA_ADMIN_BUSY))
			ret = status & SIDRA_ADMIN_RESULT_MASK;
		else if (late)
			ret = -ETIMEDOUT;
		else
			continue;
		break;
	}
	trace_sidra_admin(sdev->ordinal, op, arg0, arg1, arg2, ret);
	return ret;
}

void sidra_admin_give_up(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->chip.admin_lock);
	sdev->recovery.dumped = true;
	sidra_isolate_device(sdev);
}

int sidra_admin(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2)
{
	guard(mutex)(&sdev->chip.admin_lock);
	return sidra_admin_locked(sdev, op, arg0, arg1, arg2);
}

int sidra_admin_locked(struct sidra_device *sdev, u32 op, u64 arg0, u64 arg1, u64 arg2)
{
	int ret;

	if (READ_ONCE(sdev->removing))
		return -ENODEV;	/* nobody frees memory after this one */
	ret = sidra_admin_raw(sdev, op, arg0, arg1, arg2);
	if (ret == -ETIMEDOUT || ret == -EBUSY) {
		if (!READ_ONCE(sdev->removing)) {
			sidra_coredump(sdev, "no-acknowledgement", "admin command %u", op);
			drm_warn(&sdev->drm,
				 "resetting the device: no acknowledgement of admin command %u\n",
				 op);
		}
		sidra_admin_give_up(sdev);
	}
	if (ret < 0)
		return ret == -ENODEV ? -ENODEV : -EIO;
	return ret == SIDRA_ADMIN_OK ? 0 : -EIO;
}
