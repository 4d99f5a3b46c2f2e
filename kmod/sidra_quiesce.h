/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_QUIESCE_H__
#define __SIDRA_QUIESCE_H__

#include <linux/types.h>

struct sidra_ctx;

/*
 * QUIESCE, the one primitive: the caller has cleared table entries; on return nothing of the scope is in flight and no
 * cache of the chip holds anything of it. Acknowledged by the chip, or else its context was reset, or the device. @op
 * is QUIESCE_RANGE, QUIESCE_WEIGHTS, RESET_QUEUE or RESET_CONTEXT; after the latter two the scope runs again as soon as
 * its entries are valid. Under sidra_device.lock.
 */
void sidra_quiesce(struct sidra_ctx *ctx, u32 op, u64 arg1, u64 arg2);

#endif
