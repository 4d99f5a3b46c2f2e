// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring commands. The SQE is read once, at entry, because user space may change it later. SUBMIT
 * never returns -EAGAIN: io_uring would issue it again from a worker thread, and commands would
 * lose their order. A waiting command is completed exactly once, by whoever removes its struct
 * sidra_waiter or struct sidra_uring_req under sidra_vector.lock.
 */
#include <linux/io_uring/cmd.h>
#include <linux/uio.h>

#include "sidra_call.h"
#include "sidra_compat.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_queue.h"
#include "sidra_submit.h"
#include "sidra_uring.h"
#include "sidra_uring_pdu.h"

#define SUBMIT_MAX	4096u
#define SUBMIT_STACK	16u

/* A WAIT_VALUE command. */
struct sidra_uring_wait {
	struct sidra_waiter waiter;
	struct sidra_queue *queue;	/* with a reference */
	struct io_uring_cmd *cmd;
	int result;
};

/* ---- WAIT_VALUE ---- */

/*
 * Completes a WAIT_VALUE; the command may not be used afterwards. Called under the ring's lock, as
 * sidra_uring_cancel_one() is.
 */
static void sidra_uring_finish(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct sidra_uring_wait *wait = sidra_uring_pdu_of(cmd)->wait;
	int result = sidra_uring_outcome(wait->queue->sdev, wait->result);
	u64 value = wait->waiter.value;

	sidra_uring_pdu_of(cmd)->wait = NULL;
	sidra_queue_put(wait->queue);
	kfree(wait);
	sidra_notification_put(sidra_uring_sfile_of(cmd));
	io_uring_cmd_done32(cmd, result, value, issue_flags);
}

SIDRA_TASK_WORK(sidra_uring_finish_in_task, sidra_uring_finish)

static void sidra_uring_fire(struct sidra_waiter *waiter)
{
	struct sidra_uring_wait *wait = container_of(waiter, struct sidra_uring_wait, waiter);

	wait->result = sidra_timeline_check(&wait->queue->timeline, waiter->epoch, waiter->value);
	if (wait->result == -EINPROGRESS || wait->result == -EIO)
		wait->result = READ_ONCE(wait->queue->destroyed) ? -ENOENT : -EIO;
	io_uring_cmd_do_in_task_lazy(wait->cmd, sidra_uring_finish_in_task);
}

static int sidra_uring_wait_value(struct io_uring_cmd *cmd, struct sidra_queue *queue, u32 epoch,
				  u64 value, unsigned int issue_flags)
{
	struct sidra_uring_wait *wait;

	if (!epoch)
		return -EINVAL;
	if (sidra_timeline_check(&queue->timeline, epoch, value) == -ECANCELED)
		return -ECANCELED;
	wait = kzalloc(sizeof(*wait), GFP_KERNEL_ACCOUNT);
	if (!wait || !sidra_notification_get(sidra_uring_sfile_of(cmd))) {
		kfree(wait);
		return wait ? -ENOSPC : -ENOMEM;
	}
	wait->queue = sidra_queue_get(queue);
	wait->cmd = cmd;
	wait->waiter.epoch = epoch;
	wait->waiter.value = value;
	wait->waiter.sleeper = true;
	wait->waiter.patient = true;
	wait->waiter.fire = sidra_uring_fire;
	sidra_uring_pdu_of(cmd)->wait = wait;
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	/*
	 * The command may be completed and freed before this returns: also by a reset since the
	 * check.
	 */
	sidra_waiter_add(queue->sdev, &queue->timeline, &wait->waiter);
	return -EIOCBQUEUED;
}

/* ---- CANCEL ---- */

/* The ring or its process exits. io_uring repeats the call until the command is completed. */
static int sidra_uring_cancel_one(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	union sidra_uring_pdu *pdu = sidra_uring_pdu_of(cmd);

	if (cmd->cmd_op == SIDRA_URING_SUBMIT) {
		if (sidra_uring_req_del(&pdu->req))
			io_uring_cmd_done32(cmd, -ECANCELED, pdu->req.value, issue_flags);
	} else if (pdu->wait && sidra_waiter_del(pdu->wait->queue->sdev,
						 &pdu->wait->queue->timeline, &pdu->wait->waiter)) {
		pdu->wait->result = -ECANCELED;
		sidra_uring_finish(cmd, issue_flags);
	}
	return 0;
}

/*
 * Cancels the commands that wait for a value, among them at most one SUBMIT. Returns how many, or
 * -ENOENT.
 */
static int sidra_uring_cancel_value(struct sidra_queue *queue, u64 value)
{
	struct sidra_device *sdev = queue->sdev;
	struct sidra_uring_req *req;
	struct sidra_waiter *waiter;
	int count = 0;

	/* One at a time, and no more than can exist when the call begins. */
	while (count < SIDRA_NOTIFICATIONS_MAX &&
	       (waiter = sidra_waiter_take(sdev, &queue->timeline, value, sidra_uring_fire))) {
		struct sidra_uring_wait *wait =
			container_of(waiter, struct sidra_uring_wait, waiter);

		wait->result = -ECANCELED;
		io_uring_cmd_do_in_task_lazy(wait->cmd, sidra_uring_finish_in_task);
		count++;
	}
	req = sidra_uring_req_take(sdev, &queue->timeline, value);
	if (req) {
		req->result = -ECANCELED;
		sidra_uring_req_complete(req);
		count++;
	}
	return count ?: -ENOENT;
}

/* ---- Arguments and dispatch ---- */

/* Copies packets from a registered buffer. */
static int sidra_uring_read_fixed(struct io_uring_cmd *cmd, u64 address, u32 bytes,
				  union sidra_cmd *packets, unsigned int issue_flags)
{
	struct iov_iter iter;
	int ret = io_uring_cmd_import_fixed(address, bytes, ITER_SOURCE, &iter, cmd, issue_flags);

	if (ret)
		return ret;
	return copy_from_iter_full(packets, bytes, &iter) ? 0 : -EFAULT;
}

static int sidra_uring_submit(struct io_uring_cmd *cmd, struct sidra_queue *queue,
			      const union sidra_cmd *packets, u32 count, unsigned int issue_flags)
{
	struct sidra_uring_req *req = &sidra_uring_pdu_of(cmd)->req;
	u64 value;
	u32 epoch;
	int ret;

	if (sidra_submit_forbidden(packets, count) < count)
		return -EINVAL;
	*req = (struct sidra_uring_req){};
	/* Not later: once it is queued, it may complete at any moment. */
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	ret = sidra_submit_packets(queue, packets, count, NULL, req, cmd->file, &value, &epoch);
	if (ret)
		io_uring_cmd_done32(cmd, ret, 0, issue_flags);
	return -EIOCBQUEUED;
}

static int sidra_uring_submit_fixed(struct io_uring_cmd *cmd, struct sidra_queue *queue,
				    u64 address, u32 bytes, unsigned int issue_flags)
{
	union sidra_cmd few[SUBMIT_STACK], *packets = few;
	union sidra_cmd *many __free(kvfree) = NULL;
	u32 count = bytes / sizeof(*packets);
	int ret;

	if (!bytes || bytes % sizeof(*packets) || count > SUBMIT_MAX)
		return -EINVAL;
	if (count > SUBMIT_STACK) {
		many = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
		if (!many)
			return -ENOMEM;
		sidra_count(queue->sdev, submit_allocations);
		packets = many;
	}
	ret = sidra_uring_read_fixed(cmd, address, bytes, packets, issue_flags);
	return ret ?: sidra_uring_submit(cmd, queue, packets, count, issue_flags);
}

/* Layout of the command in an SQE of 128 bytes; an SQE of 64 bytes has no packet. */
struct uring_sqe_layout {
	struct sidra_uring_cmd cmd;
	union sidra_cmd packet;
};

/* A copy of the SQE. */
struct uring_sqe {
	struct sidra_uring_cmd cmd;
	union sidra_cmd packet;
	u64 address;
	u32 length;	/* WAIT_VALUE: the epoch */
	u32 file_index;
	u16 buffer;
};

/* Parts of the SQE that the command does not use must be zero. */
static int sidra_uring_check_unused(const struct io_uring_cmd *cmd, const struct uring_sqe *sqe,
				    unsigned int issue_flags)
{
	bool fixed = cmd->flags & IORING_URING_CMD_FIXED,
	     submits = cmd->cmd_op == SIDRA_URING_SUBMIT;

	if (sqe->cmd.flags || sqe->file_index || (submits && sqe->cmd.value))
		return -EINVAL;
	if (fixed ? !submits : sqe->address || sqe->buffer)
		return -EINVAL;
	if (cmd->cmd_op == SIDRA_URING_CANCEL && sqe->length)
		return -EINVAL;
	if ((issue_flags & IO_URING_F_SQE128) && (fixed || !submits) &&
	    memchr_inv(&sqe->packet, 0, sizeof(sqe->packet)))
		return -EINVAL;
	return 0;
}

static int sidra_uring_run(struct io_uring_cmd *cmd, const struct uring_sqe *sqe,
			   struct sidra_queue *queue, unsigned int issue_flags)
{
	switch (cmd->cmd_op) {
	case SIDRA_URING_SUBMIT:
		if (queue->kind != SIDRA_QUEUE_KERNEL)
			return -EINVAL;
		if (cmd->flags & IORING_URING_CMD_FIXED)
			return sidra_uring_submit_fixed(cmd, queue, sqe->address, sqe->length,
							issue_flags);
		if (!(issue_flags & IO_URING_F_SQE128) || sqe->length != sizeof(sqe->packet))
			return -EINVAL;
		return sidra_uring_submit(cmd, queue, &sqe->packet, 1, issue_flags);
	case SIDRA_URING_WAIT_VALUE:
		return sidra_uring_wait_value(cmd, queue, sqe->length, sqe->cmd.value, issue_flags);
	default:	/* SIDRA_URING_CANCEL */
		return sidra_uring_cancel_value(queue, sqe->cmd.value);
	}
}

static int sidra_uring_run_known(struct io_uring_cmd *cmd, const struct uring_sqe *sqe,
				 struct sidra_file *sfile, unsigned int issue_flags)
{
	struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_find(sfile, sqe->cmd.context);
	struct sidra_queue *queue __free(sidra_queue) = NULL;
	int ret = sidra_uring_check_unused(cmd, sqe, issue_flags);

	if (ret)
		return ret;
	if (!ctx)
		return -ENOENT;
	if (READ_ONCE(ctx->lost) && cmd->cmd_op != SIDRA_URING_CANCEL)
		return -ESTALE;
	queue = sidra_queue_find(ctx, sqe->cmd.queue);
	return queue ? sidra_uring_run(cmd, sqe, queue, issue_flags) : -ENOENT;
}

int sidra_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct drm_file *file = cmd->file->private_data;
	struct sidra_file *sfile = file->driver_priv;
	const struct uring_sqe_layout *layout;
	struct uring_sqe sqe;
	int ret;

	BUILD_BUG_ON(sizeof(struct sidra_uring_cmd) != 16);
	if (issue_flags & IO_URING_F_CANCEL)
		return sidra_uring_cancel_one(cmd, issue_flags);
	/* The driver has no iopoll; only some kernels refuse such rings themselves. */
	if (cmd_to_io_kiocb(cmd)->ctx->flags & IORING_SETUP_IOPOLL)
		return -EOPNOTSUPP;
	if (cmd->cmd_op < SIDRA_URING_SUBMIT || cmd->cmd_op > SIDRA_URING_CANCEL)
		return -EOPNOTSUPP;
	layout = io_uring_sqe128_cmd(cmd->sqe, struct uring_sqe_layout);
	memcpy(&sqe.cmd, &layout->cmd, sizeof(sqe.cmd));
	if (issue_flags & IO_URING_F_SQE128)
		memcpy(&sqe.packet, &layout->packet, sizeof(sqe.packet));
	sqe.address = READ_ONCE(cmd->sqe->addr);
	sqe.length = READ_ONCE(cmd->sqe->len);
	sqe.file_index = READ_ONCE(cmd->sqe->file_index);
	sqe.buffer = READ_ONCE(cmd->sqe->buf_index);
	if (READ_ONCE(sfile->sdev->gone))
		return -ENODEV;
	ret = sidra_uring_run_known(cmd, &sqe, sfile, issue_flags);
	return ret == -EIOCBQUEUED ? ret : sidra_answer(sfile->sdev, ret);
}
