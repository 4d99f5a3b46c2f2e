// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/moduleparam.h>

#include "sidra_admin.h"
#include "sidra_chip.h"
#include "sidra_coredump.h"
#include "sidra_ctx.h"
#include "sidra_event.h"
#include "sidra_firmware.h"
#include "sidra_irq.h"
#include "sidra_mailbox.h"
#include "sidra_map.h"
#include "sidra_queue.h"
#include "sidra_recovery.h"
#include "sidra_reset.h"
#include "sidra_submit.h"
#include "sidra_table.h"
#include "sidra_trace.h"

static unsigned int drain_timeout_ms = 500;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms, "time in which queues must become empty before a suspend (ms)");

void sidra_enable_device(struct sidra_device *sdev)
{
	sidra_write64(sdev, SIDRA_REG_CONTEXT_TABLE, sdev->ctx_table_bus);
	sidra_write32(sdev, SIDRA_REG_INT_ENABLE,
		      SIDRA_INT_ADMIN | SIDRA_INT_FAULT | SIDRA_INT_MAILBOX | SIDRA_INT_FIRMWARE |
			      SIDRA_INT_THERMAL);
	sidra_write32(sdev, SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
	sidra_mailbox_open(sdev);
	sidra_firmware_connect(sdev);
}

static void sidra_recovery_revoke_all(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		sidra_entry_revoke(&sdev->ctx_table[slot].flags);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot])
			sidra_ctx_revoke(sdev->ctxs[slot]);
}

static void sidra_recovery_lose_all(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	u32 slot;

	sidra_event_reset(sdev, cause);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_ctx_lose(sdev->ctxs[slot], cause);
}

/*
 * Delays the next reset if the chip answers but is not ready, because such a reset takes
 * SIDRA_RESET_TIMEOUT_MS.
 */
static void sidra_recovery_lose_link(struct sidra_device *sdev)
{
	sdev->link_gone = true;
	sdev->link_retry = jiffies + (sidra_chip_answers(sdev) ? HZ : 0);
}

void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	bool back;

	lockdep_assert_held_write(&sdev->reset_lock);
	sidra_recovery_revoke_all(sdev);
	/* Isolation has reset the chip already. */
	scoped_guard(mutex, &sdev->master_lock)
		back = !sdev->stopped && (sdev->isolated ? !sidra_chip_wait_ready(sdev, 0) :
							   sidra_reset_chip(sdev));
	atomic64_inc(&sdev->counters.device_resets);
	trace_sidra_reset(sdev->ordinal, cause, back);
	if (!back) {
		drm_warn(&sdev->drm,
			 "the chip is not ready after a reset: bus mastering stays off\n");
		sidra_coredump(sdev, "reset-failed", "device");
		sidra_recovery_lose_link(sdev);
	}
	sidra_recovery_lose_all(sdev, cause);
	guard(mutex)(&sdev->master_lock);
	sdev->isolated = false;
	if (!back)
		return;
	pci_set_master(sdev->pdev);
	sidra_enable_device(sdev);
}

/* Contexts that sidra_quiesce() has made the chip reset. */
static void sidra_recovery_lose_failed(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		struct sidra_ctx *ctx = sdev->ctxs[slot];

		if (!ctx || !ctx->failed || ctx->lost)
			continue;
		/* Again: CONTEXT_RECOVER may have made it valid meanwhile */
		sidra_entry_revoke(&sdev->ctx_table[slot].flags);
		sidra_ctx_revoke(ctx);
		sidra_ctx_lose(ctx, SIDRA_FAULT_TIMEOUT);
		sidra_event_context_lost(sdev, slot, SIDRA_FAULT_TIMEOUT);
	}
}

int sidra_recover(struct sidra_device *sdev)
{
	lockdep_assert_held_write(&sdev->reset_lock);
	/* A removal does more, with the errors of a removal */
	if (sdev->stopped || READ_ONCE(sdev->removing))
		return -ENODEV;
	sidra_recovery_lose_failed(sdev);
	if (READ_ONCE(sdev->isolated)) {
		if (!sdev->recovery.dumped)
			sidra_coredump(sdev, "isolated", "device");
		sidra_reset_device(sdev, SIDRA_FAULT_TIMEOUT);
	}
	sdev->recovery.dumped = false;
	if (!sidra_chip_answers(sdev)) {
		if (!sdev->link_gone) {
			sidra_coredump(sdev, "link-lost", "device");
			sidra_reset_device(sdev, SIDRA_FAULT_RESET);
		}
		sdev->link_gone = true;
		return -ENODEV;
	}
	if (sdev->link_gone && !time_before(jiffies, sdev->link_retry)) {
		sdev->link_gone = false;
		sidra_reset_device(sdev, SIDRA_FAULT_RESET);
	}
	return sdev->link_gone ? -ENODEV : 0;
}

static void sidra_recovery_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(work, struct sidra_device, recovery.work);

	scoped_guard(rwsem_write, &sdev->reset_lock) {
		sidra_recover(sdev);
		/*
		 * If the device was isolated meanwhile, the work runs again. Under the lock, so
		 * that the request for that is not overwritten.
		 */
		guard(mutex)(&sdev->master_lock);
		WRITE_ONCE(sdev->recovery.requested, sdev->isolated && !sdev->stopped);
	}
	wake_up_all(&sdev->recovery.done);
}

void sidra_recovery_init(struct sidra_device *sdev)
{
	INIT_WORK(&sdev->recovery.work, sidra_recovery_work);
	init_waitqueue_head(&sdev->recovery.done);
}

void sidra_recovery_stop(struct sidra_device *sdev)
{
	disable_work_sync(&sdev->recovery.work);
	WRITE_ONCE(sdev->recovery.requested, false);
	wake_up_all(&sdev->recovery.done);
}

/* ---- Stop, suspend and resume ---- */

static void sidra_recovery_hold_submits(struct sidra_device *sdev)
{
	struct sidra_queue *queue;
	unsigned long number;
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot])
			xa_for_each(&sdev->ctxs[slot]->queues, number, queue)
				sidra_submit_hold(queue);
}

/* Stops all access to the chip, and resets it. Returns whether it became ready. */
static bool sidra_recovery_stop_chip(struct sidra_device *sdev)
{
	lockdep_assert_held_write(&sdev->reset_lock);
	sidra_recovery_revoke_all(sdev);
	sidra_map_show_local(sdev, false);
	guard(mutex)(&sdev->master_lock);
	sidra_irq_hold(sdev);
	sidra_recovery_hold_submits(sdev);
	return sidra_reset_chip(sdev);
}

void sidra_stop_device(struct sidra_device *sdev)
{
	sidra_recovery_stop_chip(sdev);
	sidra_recovery_lose_all(sdev, SIDRA_FAULT_RESET);
}

static bool sidra_recovery_all_drained(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost &&
		    !sidra_ctx_drained(sdev->ctxs[slot]))
			return false;
	return true;
}

static void sidra_recovery_await_drained(struct sidra_device *sdev, unsigned long end)
{
	while (!sidra_recovery_all_drained(sdev) && time_before(jiffies, end) &&
	       sidra_chip_answers(sdev))
		usleep_range(200, 1000);
}

/*
 * Waits until queues are drained. Tasks are frozen, so none adds packets; one may have been frozen
 * before it rang the doorbell, so this rings all of them. Jobs whose in-fences signal are published
 * meanwhile, but not after the last look at the queues. At the end the device is quiesced: a queue
 * that just reads its write index or a semaphore would fault without bus mastering.
 */
static void sidra_recovery_drain(struct sidra_device *sdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(drain_timeout_ms);
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_queue_ring_all(sdev->ctxs[slot]);
	sidra_recovery_await_drained(sdev, end);
	WRITE_ONCE(sdev->quiescing, true);
	sidra_recovery_hold_submits(sdev);
	sidra_recovery_await_drained(sdev, end);
	/* If it fails, the check after the reset finds out */
	guard(mutex)(&sdev->chip.admin_lock);
	sidra_admin_raw(sdev, SIDRA_ADMIN_QUIESCE_DEVICE, 0, 0, 0);
}

void sidra_suspend_device(struct sidra_device *sdev)
{
	bool back;
	u32 slot;

	lockdep_assert_held_write(&sdev->reset_lock);
	sidra_recovery_lose_failed(sdev);
	if (!sdev->stopped && !sdev->link_gone)
		sidra_recovery_drain(sdev);
	back = sidra_recovery_stop_chip(sdev);
	WRITE_ONCE(sdev->quiescing, false);
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

int sidra_resume_device(struct sidra_device *sdev)
{
	bool isolated;
	u32 slot;

	lockdep_assert_held_write(&sdev->reset_lock);
	if (sidra_chip_wait_ready(sdev, SIDRA_RESET_TIMEOUT_MS)) {
		drm_err(&sdev->drm,
			"the chip is not ready after a suspend or bus reset: calls fail with -ENODEV until it is\n");
		sidra_recovery_lose_all(sdev, SIDRA_FAULT_RESET);
		sidra_recovery_lose_link(sdev);
		scoped_guard(mutex, &sdev->master_lock) {
			sdev->stopped = false;
			sdev->isolated = false;
		}
		/* The chip may return without a notification */
		sidra_map_show_local(sdev, true);
		return -ENODEV;
	}
	scoped_guard(mutex, &sdev->master_lock) {
		pci_set_master(sdev->pdev);
		isolated = sdev->isolated;
		sdev->isolated = false;
	}
	/* Watchdogs have failed jobs, whose packets the chip must not execute any more */
	if (isolated)
		sidra_recovery_lose_all(sdev, SIDRA_FAULT_TIMEOUT);
	pci_save_state(sdev->pdev);	/* restored after a slot reset */
	sidra_enable_device(sdev);
	sidra_irq_resume(sdev);
	sidra_map_show_local(sdev, true);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_ctx_resume(sdev->ctxs[slot]);
	return 0;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_recovery_kunit.c"
#endif
