/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_QUIESCE_H__
#define __SIDRA_QUIESCE_H__

#include <linux/types.h>

struct sidra_ctx;

/*
 * Waits until the chip no longer uses what the caller has removed from its tables. On return
 * nothing of the scope is in flight, and no cache of the chip holds anything of it. If the chip
 * does not acknowledge @op, the chip resets the context, and if that fails, the device is isolated;
 * then the result is -ESTALE, and a recovery was requested that makes the context lost. While the
 * device is being removed, it is isolated at once. @op is QUIESCE_RANGE, QUIESCE_WEIGHTS,
 * RESET_QUEUE or RESET_CONTEXT; after the latter two the scope runs again as soon as its entries
 * are valid. The caller holds sidra_device.reset_lock.
 */
int sidra_quiesce(struct sidra_ctx *ctx, u32 op, u64 arg1, u64 arg2);

#endif
