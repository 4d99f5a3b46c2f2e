/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mutex whose holder may wait long for the chip, so a fatal signal ends the wait for it:
 *   CLASS(sidra_mutex, held)(lock): takes it until the end of the block, if @held.error is 0
 */
#ifndef __SIDRA_MUTEX_H__
#define __SIDRA_MUTEX_H__

#include <linux/cleanup.h>
#include <linux/mutex.h>

#include "sidra_compat.h"

/**
 * struct sidra_mutex - the result of taking a mutex
 * @lock: the mutex
 * @error: 0 if it is held, or -EINTR
 */
struct sidra_mutex {
	struct mutex *lock;	/* taken */
	int error;
};

static inline struct sidra_mutex __no_context_analysis sidra_mutex_lock(struct mutex *lock)
{
	return (struct sidra_mutex){ .lock = lock, .error = mutex_lock_killable(lock) };
}

static inline void __no_context_analysis sidra_mutex_unlock(const struct sidra_mutex *held)
{
	if (!held->error)
		mutex_unlock(held->lock);
}

DEFINE_CLASS(sidra_mutex, struct sidra_mutex, sidra_mutex_unlock(&_T), sidra_mutex_lock(lock),
	     struct mutex *lock)

#endif
