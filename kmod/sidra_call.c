// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_recovery.h"

#define HELD_TIMEOUT_MS	10000

struct sidra_locked sidra_lock(struct sidra_device *sdev)
{
	return (struct sidra_locked){ .sdev = sdev, .error = mutex_lock_killable(&sdev->lock) };
}

/* Without the lock: a fatal signal ends the wait, and removal does. */
static int sidra_call_wait_for_recovery(struct sidra_device *sdev)
{
	return wait_event_killable(sdev->recovery.done,
				   !READ_ONCE(sdev->recovery.requested) || READ_ONCE(sdev->gone)) ?
		-EINTR :
		0;
}

void sidra_unlock(const struct sidra_locked *locked)
{
	struct sidra_device *sdev = locked->sdev;

	if (locked->error)
		return;
	mutex_unlock(&sdev->lock);
	/* If a signal ends the wait, the call has still done what it returns. */
	sidra_call_wait_for_recovery(sdev);
}

static int sidra_call_wait_while_held(struct sidra_device *sdev)
{
	long left = wait_event_killable_timeout(sdev->held_wait, !READ_ONCE(sdev->held),
						msecs_to_jiffies(HELD_TIMEOUT_MS));

	if (left > 0)
		return 0;
	return left ? -EINTR : -ENODEV;
}

/* Whether the link was lost, or has come back, and nothing was done about it yet. */
static bool sidra_call_link_changed(struct sidra_device *sdev)
{
	bool answers = sidra_chip_answers(sdev);

	if (answers && sdev->link_gone)
		return !time_before(jiffies, sdev->link_retry);
	return !answers && !sdev->link_gone;
}

/* 0: the call may begin; -EAGAIN: a recovery was requested, which comes first; or -ENODEV. */
static int sidra_call_check_link(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->lock);
	if (sdev->stopped)
		return -ENODEV;
	if (!READ_ONCE(sdev->recovery.requested)) {
		if (!sidra_call_link_changed(sdev))
			return sdev->link_gone ? -ENODEV : 0;
		sidra_recovery_request(sdev);
	}
	return -EAGAIN;
}

struct sidra_locked sidra_begin_call(struct sidra_device *sdev)
{
	struct sidra_locked locked = { .sdev = sdev };

	do {
		locked.error = sidra_call_wait_for_recovery(sdev) ?:
			sidra_call_wait_while_held(sdev) ?:
			mutex_lock_killable(&sdev->lock);
		if (locked.error)
			return locked;
		locked.error = sdev->held ? -EAGAIN : sidra_call_check_link(sdev);
		if (locked.error)
			mutex_unlock(&sdev->lock);
	} while (locked.error == -EAGAIN);
	return locked;
}
