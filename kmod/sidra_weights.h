/* SPDX-License-Identifier: GPL-2.0-only */
/* Handles of contexts to weights objects, and their entries in the weights table. */
#ifndef __SIDRA_WEIGHTS_H__
#define __SIDRA_WEIGHTS_H__

struct sidra_ctx;

/* Drops all handles of a context. The caller holds sidra_ctx.lock. */
void sidra_weights_drop_all(struct sidra_ctx *ctx);

#endif
