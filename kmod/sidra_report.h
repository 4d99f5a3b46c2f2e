/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_REPORT_H__
#define __SIDRA_REPORT_H__

#include "sidra_pure.h"

/*
 * Makes of what the chip says of a crossbar what the owner of object @uid is told, whose tile @tile with @rows rows
 * lies there. Of another object's work nothing is left but what is the crossbar's for life. -EIO: it cannot be so.
 */
int sidra_report_vet(struct sidra_hw_xbar_report *report, u64 uid, u32 tile, u32 rows);

#endif
