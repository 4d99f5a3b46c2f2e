/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver uses the interfaces of the newest supported kernel. This header provides what older
 * kernels lack; the probes in Kbuild find that out from the kernel's headers.
 */
#ifndef __SIDRA_COMPAT_H__
#define __SIDRA_COMPAT_H__

#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#ifdef SIDRA_IMPORT_NS_BARE
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

/* For functions that take or release a lock for their caller. */
#ifndef __no_context_analysis
#define __no_context_analysis
#endif

/* Initialiser of a member of struct drm_driver that newer kernels lack. */
#ifdef SIDRA_DRM_HAS_DATE
#define SIDRA_DRM_DATE		.date = "20260101",
#else
#define SIDRA_DRM_DATE
#endif

/* The types of a binary attribute in its callbacks and in a group. */
#ifdef SIDRA_BIN_ATTR_CONST
#define sidra_bin_const		const
#else
#define sidra_bin_const
#endif

#ifndef SIDRA_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* The member of struct dma_buf_attach_ops, and the exporter's call of it. */
#ifndef SIDRA_HAS_INVALIDATE_MAPPINGS
#define invalidate_mappings		move_notify
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

/* ---- io_uring ---- */

#ifndef SIDRA_HAS_SQE128_CMD
#define io_uring_sqe128_cmd(sqe, type)	((const type *)io_uring_sqe_cmd(sqe))
#endif

#ifndef SIDRA_HAS_CMD_DONE32
static inline void io_uring_cmd_done32(struct io_uring_cmd *cmd, s32 result, u64 value,
				       unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, result, value, issue_flags);
}
#endif

#ifdef SIDRA_IMPORT_FIXED_BARE
static inline int sidra_import_fixed(u64 address, unsigned long bytes, int direction,
				     struct iov_iter *iter, struct io_uring_cmd *cmd,
				     unsigned int issue_flags)
{
	return io_uring_cmd_import_fixed(address, bytes, direction, iter, cmd);
}

#define io_uring_cmd_import_fixed sidra_import_fixed
#endif

/*
 * Defines a callback for io_uring_cmd_do_in_task_lazy() and the like, which calls does(cmd,
 * issue_flags).
 */
#ifdef SIDRA_HAS_TW_REQ
#define SIDRA_TASK_WORK(name, does)								\
static void name(struct io_tw_req req, io_tw_token_t token)					\
{												\
	does(io_uring_cmd_from_tw(req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);			\
}
#else
#define SIDRA_TASK_WORK(name, does)								\
static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)				\
{												\
	does(cmd, issue_flags);									\
}
#endif

#endif
