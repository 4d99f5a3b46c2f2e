/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every call begins and ends with: sidra_device.lock, and the state of the link.
 *
 * Another holder of the lock may wait seconds for a chip that does not answer, so a fatal signal
 * ends the wait for the lock: @error is -EINTR then. If something fails under the lock that only a
 * reset mends, the call that releases the lock waits until the device is reset.
 *   CLASS(sidra_lock, locked)(sdev): takes the lock until the end of the block, for calls that also
 *                                    work without the chip
 *   CLASS(sidra_call, call)(sdev): waits for the end of a suspend or reset, takes the lock, and
 *                                  checks that the chip answers; if not, @error is -ENODEV
 */
#ifndef __SIDRA_CALL_H__
#define __SIDRA_CALL_H__

#include <linux/cleanup.h>
#include <linux/types.h>

#include "sidra_compat.h"
#include "sidra_device.h"

/**
 * struct sidra_locked - the result of taking the lock
 * @sdev: the device
 * @error: 0 if the lock is held, or -errno
 */
struct sidra_locked {
	struct sidra_device *sdev;
	int error;
};

struct sidra_locked sidra_lock(struct sidra_device *sdev) __no_context_analysis;
struct sidra_locked sidra_begin_call(struct sidra_device *sdev) __no_context_analysis;
void sidra_unlock(const struct sidra_locked *locked) __no_context_analysis;

DEFINE_CLASS(sidra_lock, struct sidra_locked, sidra_unlock(&_T), sidra_lock(sdev),
	     struct sidra_device *sdev)
DEFINE_CLASS(sidra_call, struct sidra_locked, sidra_unlock(&_T), sidra_begin_call(sdev),
	     struct sidra_device *sdev)

/* Checks whether the chip answers: 0 or -errno, as for CLASS(sidra_call). */
static inline int sidra_check_device(struct sidra_device *sdev)
{
	CLASS(sidra_call, call)(sdev);
	return call.error;
}

/* The result of a call: every error becomes -ENODEV once the device is being removed. */
static inline long sidra_answer(const struct sidra_device *sdev, long ret)
{
	return ret < 0 && READ_ONCE(sdev->gone) ? -ENODEV : ret;
}

static inline int sidra_check_zero(u64 value)
{
	return value ? -EINVAL : 0;
}

#endif
