// SPDX-License-Identifier: GPL-2.0-only
/* Completion of SUBMITs by io_uring whose packets have retired, or will not. */
#include "sidra_queue.h"
#include "sidra_uring_pdu.h"

/* Completes a command and those linked to it. None of them may be used afterwards. */
static void sidra_uring_req_complete_linked(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct sidra_device *sdev = sidra_uring_sfile_of(cmd)->sdev;
	struct sidra_uring_req *req, *next;
	LIST_HEAD(list);

	/* Adds a list head to the circle of links */
	list_add_tail(&list, &sidra_uring_pdu_of(cmd)->req.link);
	list_for_each_entry_safe(req, next, &list, link)
		io_uring_cmd_done32(sidra_uring_cmd_of(req), sidra_uring_outcome(sdev, req->result),
				    req->value, issue_flags);
}

SIDRA_TASK_WORK(sidra_uring_req_complete_in_task, sidra_uring_req_complete_linked)

/*
 * Consecutive commands of one task and one ring complete in one task work, that of the first
 * command. A task that waits for several completions is woken lazily after that number of task
 * works (IOU_F_TWQ_LAZY_WAKE), which is only correct for a task work that completes a single
 * command.
 */
void sidra_uring_req_complete_all(const struct sidra_timeline *timeline, struct list_head *list)
{
	const struct sidra_queue *queue = container_of(timeline, struct sidra_queue, timeline);
	int error = READ_ONCE(queue->destroyed)	     ? -ENOENT :
		    sidra_timeline_stopped(timeline) ? -EIO :
						       -ECANCELED;
	u64 retired = sidra_timeline_value(timeline);

	while (!list_empty(list)) {
		struct sidra_uring_req *head = list_first_entry(list, struct sidra_uring_req, link);
		struct io_uring_cmd *first = sidra_uring_cmd_of(head);
		const struct io_ring_ctx *ring = cmd_to_io_kiocb(first)->ctx;
		const struct task_struct *task = io_uring_cmd_get_task(first);
		struct list_head *pos;
		bool several;
		LIST_HEAD(run);

		list_for_each(pos, list) {
			struct sidra_uring_req *req = list_entry(pos, struct sidra_uring_req, link);
			struct io_uring_cmd *cmd = sidra_uring_cmd_of(req);

			if (cmd_to_io_kiocb(cmd)->ctx != ring || io_uring_cmd_get_task(cmd) != task)
				break;
			req->result = req->value <= retired ? 0 : error;
		}
		list_cut_before(&run, list, pos);
		several = !list_is_singular(&run);
		list_del(&run);
		__io_uring_cmd_do_in_task(first, sidra_uring_req_complete_in_task,
					  several ? 0 : IOU_F_TWQ_LAZY_WAKE);
	}
}

void sidra_uring_req_complete(struct sidra_uring_req *req)
{
	INIT_LIST_HEAD(&req->link);
	io_uring_cmd_do_in_task_lazy(sidra_uring_cmd_of(req), sidra_uring_req_complete_in_task);
}
