/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_URING_H__
#define __SIDRA_URING_H__

struct io_uring_cmd;

/* SUBMIT, WAIT_VALUE and CANCEL of uapi/sidra_accel.h. */
int sidra_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
#endif
