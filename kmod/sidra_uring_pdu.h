/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's part of an io_uring command, and the completion of SUBMITs. */
#ifndef __SIDRA_URING_PDU_H__
#define __SIDRA_URING_PDU_H__

#include <linux/io_uring/cmd.h>

#include "sidra_call.h"
#include "sidra_compat.h"
#include "sidra_file.h"
#include "sidra_irq.h"

struct sidra_uring_wait;

/**
 * union sidra_uring_pdu - the driver's part of a command
 * @req: of a SUBMIT
 * @wait: of a WAIT_VALUE
 */
union sidra_uring_pdu {
	struct sidra_uring_req req;
	struct sidra_uring_wait *wait;
};

static inline union sidra_uring_pdu *sidra_uring_pdu_of(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, union sidra_uring_pdu);
}

static inline struct io_uring_cmd *sidra_uring_cmd_of(struct sidra_uring_req *req)
{
	return container_of((u8 *)req, struct io_uring_cmd, pdu[0]);
}

static inline struct sidra_file *sidra_uring_sfile_of(struct io_uring_cmd *cmd)
{
	struct drm_file *file = cmd->file->private_data;

	return file->driver_priv;
}

/*
 * The result of a command that waited: -ENODEV if the device was removed, unless the command was
 * cancelled.
 */
static inline int sidra_uring_outcome(const struct sidra_device *sdev, int result)
{
	return result == -ECANCELED ? result : sidra_answer(sdev, result);
}

/*
 * Completes SUBMITs that have left sidra_timeline.reqs, with an error if their value was not
 * reached; consumes the list. Under sidra_vector.lock.
 */
void sidra_uring_req_complete_all(const struct sidra_timeline *timeline, struct list_head *list);
/* Completes one, whose result is set. */
void sidra_uring_req_complete(struct sidra_uring_req *req);

#endif
