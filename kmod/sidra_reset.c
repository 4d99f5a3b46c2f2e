// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/moduleparam.h>

#include "sidra_ctx.h"
#include "sidra_drv.h"
#include "sidra_irq.h"
#include "sidra_mmap.h"
#include "sidra_queue.h"
#include "sidra_reset.h"
#include "sidra_submit.h"
#include "sidra_trace.h"

#define RESET_TIMEOUT_MS	2000

static unsigned int drain_timeout_ms = 500;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms, "time in which queues must become empty before a suspend (ms)");

/*
 * Disables bus mastering, so that no DMA reaches memory, and resets the chip. Returns whether it
 * became ready.
 */
static bool sidra_reset_chip(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->master_lock);
	sidra_mailbox_close(sdev);
	pci_clear_master(sdev->pdev);
	if (!sidra_chip_answers(sdev))
		return false;
	sidra_write32(sdev, SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
	return !sidra_chip_wait_ready(sdev, RESET_TIMEOUT_MS);
}

static void sidra_reset_revoke_all(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		sidra_entry_revoke(&sdev->ctx_table[slot].flags);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot])
			sidra_ctx_revoke(sdev->ctxs[slot]);
}

static void sidra_reset_lose_all(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	u32 slot;

	sidra_event_reset(sdev, cause);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_ctx_lose(sdev->ctxs[slot], cause);
}

/*
 * Delays the next reset if the chip answers but is not ready, because such a reset takes
 * RESET_TIMEOUT_MS.
 */
static void sidra_reset_lose_link(struct sidra_device *sdev)
{
	sdev->link_gone = true;
	sdev->link_retry = jiffies + (sidra_chip_answers(sdev) ? HZ : 0);
}

void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	bool back;

	lockdep_assert_held(&sdev->lock);
	sidra_reset_revoke_all(sdev);
	scoped_guard(mutex, &sdev->master_lock)
		back = !sdev->stopped && sidra_reset_chip(sdev);
	atomic64_inc(&sdev->counters.device_resets);
	trace_sidra_reset(sdev->ordinal, cause, back);
	if (!back) {
		drm_warn(&sdev->drm,
			 "the chip is not ready after a reset: bus mastering stays off\n");
		sidra_coredump(sdev, "reset-failed", "device");
		sidra_reset_lose_link(sdev);
	}
	sidra_reset_lose_all(sdev, cause);
	guard(mutex)(&sdev->master_lock);
	sdev->cut_off = false;
	if (!back)
		return;
	pci_set_master(sdev->pdev);
	sidra_chip_enable(sdev);
}

/* Stops all access to the chip, and resets it. Returns whether it became ready. */
static bool sidra_reset_stop_chip(struct sidra_device *sdev)
{
	struct sidra_queue *queue;
	unsigned long number;
	u32 slot;

	lockdep_assert_held(&sdev->lock);
	sidra_reset_revoke_all(sdev);
	sidra_map_show_local(sdev, false);
	guard(mutex)(&sdev->master_lock);
	sidra_irq_hold(sdev);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot])
			xa_for_each(&sdev->ctxs[slot]->queues, number, queue)
				sidra_submit_hold(queue);
	return sidra_reset_chip(sdev);
}

void sidra_stop_device(struct sidra_device *sdev)
{
	sidra_reset_stop_chip(sdev);
	sidra_reset_lose_all(sdev, SIDRA_FAULT_RESET);
}

static bool sidra_reset_all_drained(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost &&
		    !sidra_ctx_drained(sdev->ctxs[slot]))
			return false;
	return true;
}

/*
 * Waits until queues are drained. Tasks are frozen, so none adds packets; one may have been frozen
 * before it rang the doorbell, so this rings all of them. At the end the device is quiesced: a
 * queue that just reads its write index or a semaphore would fault without bus mastering.
 */
static void sidra_reset_drain(struct sidra_device *sdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(drain_timeout_ms);
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_queue_ring_all(sdev->ctxs[slot]);
	while (!sidra_reset_all_drained(sdev) && time_before(jiffies, end) &&
	       sidra_chip_answers(sdev))
		usleep_range(200, 1000);
	/* If it fails, the check after the reset finds out */
	sidra_admin_raw(sdev, SIDRA_ADMIN_QUIESCE_DEVICE, 0, 0, 0);
}

void sidra_suspend_device(struct sidra_device *sdev)
{
	bool back;
	u32 slot;

	lockdep_assert_held(&sdev->lock);
	if (!sdev->stopped && !sdev->link_gone)
		sidra_reset_drain(sdev);
	back = sidra_reset_stop_chip(sdev);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		struct sidra_ctx *ctx = sdev->ctxs[slot];

		if (!ctx || ctx->lost || (back && sidra_ctx_drained(ctx)))
			continue;
		drm_notice(&sdev->drm,
			   "context %u is lost: its queues were not empty %u ms after the suspend began\n",
			   slot, drain_timeout_ms);
		sidra_ctx_lose(ctx, SIDRA_FAULT_RESET);
		sidra_event_context_lost(sdev, slot, SIDRA_FAULT_RESET);
	}
}

void sidra_cut_device(struct sidra_device *sdev)
{
	guard(mutex)(&sdev->master_lock);
	if (!sdev->cut_off && !sdev->stopped)
		sidra_reset_chip(sdev);
	WRITE_ONCE(sdev->cut_off, true);
}

int sidra_resume_device(struct sidra_device *sdev)
{
	u32 slot;

	lockdep_assert_held(&sdev->lock);
	if (sidra_chip_wait_ready(sdev, RESET_TIMEOUT_MS)) {
		drm_err(&sdev->drm,
			"the chip is not ready after a suspend or bus reset: calls fail with -ENODEV until it is\n");
		sidra_reset_lose_all(sdev, SIDRA_FAULT_RESET);
		sidra_reset_lose_link(sdev);
		scoped_guard(mutex, &sdev->master_lock)
			sdev->stopped = sdev->cut_off = false;
		/* The chip may return without a notification */
		sidra_map_show_local(sdev, true);
		return -ENODEV;
	}
	scoped_guard(mutex, &sdev->master_lock) {
		pci_set_master(sdev->pdev);
		sdev->cut_off = false;
	}
	pci_save_state(sdev->pdev);	/* restored after a slot reset */
	sidra_chip_enable(sdev);
	sidra_irq_resume(sdev);
	sidra_map_show_local(sdev, true);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_ctx_resume(sdev->ctxs[slot]);
	return 0;
}
