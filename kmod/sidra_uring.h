/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_URING_H__
#define __SIDRA_URING_H__

#include <linux/list.h>

struct io_uring_cmd;
struct sidra_point;

/* SUBMIT, WAIT_VALUE and CANCEL of uapi/sidra_accel.h. */
int sidra_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
/*
 * Completes commands that left sidra_point.pending, with an error if their value was not reached.
 * Under sidra_vector.lock.
 */
void sidra_uring_end(const struct sidra_point *point, struct list_head *list);

#endif
