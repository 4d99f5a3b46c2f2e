/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_REPORT_H__
#define __SIDRA_REPORT_H__

#include "sidra_pure.h"

/*
 * Checks a crossbar report of the chip for the owner of object @uid. Its tile @tile, which has
 * @rows rows, is on that crossbar. If another object was programmed there last, only the lifetime
 * values of the crossbar are kept. -EIO: impossible values.
 */
int sidra_report_vet(struct sidra_hw_xbar_report *report, u64 uid, u32 tile, u32 rows);

/* Translates a report that was checked. */
void sidra_report_translate(const struct sidra_hw_xbar_report *from, struct sidra_weights_tile *to);

#endif
