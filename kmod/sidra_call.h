/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every call begins and ends with: sidra_device.reset_lock, the lock of what it works on, and
 * the state of the link.
 *
 * Another holder of a lock may wait seconds for a chip that does not answer, so a fatal signal ends
 * the wait for each: @error is -EINTR then. If something fails under the locks that only a reset
 * mends, the call that releases them waits until the device is reset.
 *   CLASS(sidra_lock, locked)(sdev, lock): takes the locks until the end of the block, for calls
 *                                          that also work without the chip
 *   CLASS(sidra_call, call)(sdev, lock): waits for the end of a suspend or reset, checks that the
 *                                        chip answers (@error is -ENODEV if not), and takes the
 *                                        locks; @lock may be NULL
 *   CLASS(sidra_exclusive, call)(sdev): the same with all other calls excluded
 */
#ifndef __SIDRA_CALL_H__
#define __SIDRA_CALL_H__

#include <linux/cleanup.h>
#include <linux/types.h>

#include "sidra_compat.h"
#include "sidra_device.h"

/**
 * struct sidra_locked - the result of taking the locks
 * @sdev: the device
 * @lock: taken after sidra_device.reset_lock, or NULL
 * @exclusive: sidra_device.reset_lock is held exclusively
 * @error: 0 if the locks are held, or -errno
 */
struct sidra_locked {
	struct sidra_device *sdev;
	struct mutex *lock;	/* second */
	bool exclusive;
	int error;
};

struct sidra_locked sidra_lock(struct sidra_device *sdev, struct mutex *lock) __no_context_analysis;
struct sidra_locked sidra_begin_call(struct sidra_device *sdev, struct mutex *lock,
				     bool exclusive) __no_context_analysis;
void sidra_unlock(const struct sidra_locked *locked) __no_context_analysis;

DEFINE_CLASS(sidra_lock, struct sidra_locked, sidra_unlock(&_T), sidra_lock(sdev, lock),
	     struct sidra_device *sdev, struct mutex *lock)
DEFINE_CLASS(sidra_call, struct sidra_locked, sidra_unlock(&_T),
	     sidra_begin_call(sdev, lock, false), struct sidra_device *sdev, struct mutex *lock)
DEFINE_CLASS(sidra_exclusive, struct sidra_locked, sidra_unlock(&_T),
	     sidra_begin_call(sdev, NULL, true), struct sidra_device *sdev)

/*
 * Whether a recovery was requested, which comes before anything else; requests one if the link was
 * lost, or has come back. Under sidra_device.reset_lock.
 */
bool sidra_call_recovery_first(struct sidra_device *sdev);

/* Checks whether the chip answers: 0 or -errno, as for CLASS(sidra_call). */
static inline int sidra_check_device(struct sidra_device *sdev)
{
	CLASS(sidra_call, call)(sdev, NULL);
	return call.error;
}

/* The same without waiting: 0 also if that could not be found out. */
int sidra_probe_device(struct sidra_device *sdev) __no_context_analysis;

/* The result of a call: every error becomes -ENODEV once the device is being removed. */
static inline long sidra_answer(const struct sidra_device *sdev, long ret)
{
	return ret < 0 && READ_ONCE(sdev->gone) ? -ENODEV : ret;
}

#endif
