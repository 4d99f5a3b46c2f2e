/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights: handles of contexts on the objects of the array, and their entries in the weights table. */
#ifndef __SIDRA_WEIGHTS_H__
#define __SIDRA_WEIGHTS_H__

struct sidra_ctx;

/* Under sidra_device.lock. */
void sidra_weights_drop_all(struct sidra_ctx *ctx);

#endif
