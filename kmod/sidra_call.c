// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_call.h"
#include "sidra_chip.h"

#define HELD_TIMEOUT_MS	10000

static int __no_context_analysis sidra_call_down(const struct sidra_locked *locked)
{
	struct rw_semaphore *lock = &locked->sdev->reset_lock;

	return locked->exclusive ? down_write_killable(lock) : down_read_killable(lock);
}

static void __no_context_analysis sidra_call_up(const struct sidra_locked *locked)
{
	struct rw_semaphore *lock = &locked->sdev->reset_lock;

	if (locked->exclusive)
		up_write(lock);
	else
		up_read(lock);
}

static int __no_context_analysis sidra_call_lock_second(const struct sidra_locked *locked)
{
	return locked->lock ? mutex_lock_killable(locked->lock) : 0;
}

static void __no_context_analysis sidra_call_unlock_second(const struct sidra_locked *locked)
{
	if (locked->lock)
		mutex_unlock(locked->lock);
}

struct sidra_locked sidra_lock(struct sidra_device *sdev, struct mutex *lock)
{
	struct sidra_locked locked = { .sdev = sdev, .lock = lock };

	locked.error = sidra_call_down(&locked);
	if (locked.error)
		return locked;
	locked.error = sidra_call_lock_second(&locked);
	if (locked.error)
		sidra_call_up(&locked);
	return locked;
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
	if (locked->error)
		return;
	sidra_call_unlock_second(locked);
	sidra_call_up(locked);
	/* If a signal ends the wait, the call has still done what it returns. */
	sidra_call_wait_for_recovery(locked->sdev);
}

static int sidra_call_wait_while_held(struct sidra_device *sdev)
{
	long left = wait_event_killable_timeout(sdev->held_wait, !READ_ONCE(sdev->held),
						msecs_to_jiffies(HELD_TIMEOUT_MS));

	if (left > 0)
		return 0;
	return left ? -EINTR : -ENODEV;
}

/*
 * Whether the link was lost, or has come back, and nothing was done about it yet. A chip that has
 * answered is asked again in the next tick only: a read of a register takes long, and where the
 * card is emulated, others' accesses wait for it.
 */
static bool sidra_call_link_changed(struct sidra_device *sdev)
{
	unsigned long now = jiffies;

	if (!sdev->link_gone && READ_ONCE(sdev->link_seen) == now)
		return false;
	if (!sidra_chip_answers(sdev))
		return !sdev->link_gone;
	WRITE_ONCE(sdev->link_seen, now);
	return sdev->link_gone && !time_before(now, sdev->link_retry);
}

bool sidra_call_recovery_first(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->reset_lock);
	if (READ_ONCE(sdev->recovery.requested))
		return true;
	if (!sidra_call_link_changed(sdev))
		return false;
	sidra_recovery_request(sdev);
	return true;
}

/* 0: the call may begin; -EAGAIN: something else comes first; or -ENODEV. */
static int sidra_call_check(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->reset_lock);
	if (sdev->held)
		return -EAGAIN;
	if (sdev->stopped || READ_ONCE(sdev->removing))	/* what is wrong is not mended any more */
		return -ENODEV;
	if (sidra_call_recovery_first(sdev))
		return -EAGAIN;
	return sdev->link_gone ? -ENODEV : 0;
}

int sidra_probe_device(struct sidra_device *sdev)
{
	int ret;

	if (!down_read_trylock(&sdev->reset_lock))
		return 0;
	ret = sidra_call_check(sdev);
	up_read(&sdev->reset_lock);
	return ret == -EAGAIN ? 0 : ret;
}

struct sidra_locked sidra_begin_call(struct sidra_device *sdev, struct mutex *lock, bool exclusive)
{
	struct sidra_locked locked = { .sdev = sdev, .lock = lock, .exclusive = exclusive };

	do {
		locked.error = sidra_call_wait_for_recovery(sdev) ?:
			sidra_call_wait_while_held(sdev) ?:
			sidra_call_down(&locked);
		if (locked.error)
			return locked;
		locked.error = sidra_call_check(sdev) ?: sidra_call_lock_second(&locked);
		if (!locked.error && READ_ONCE(sdev->recovery.requested)) {
			/* Who had the lock has found out that the chip does not answer */
			sidra_call_unlock_second(&locked);
			locked.error = -EAGAIN;
		}
		if (locked.error)
			sidra_call_up(&locked);
	} while (locked.error == -EAGAIN);
	return locked;
}
