// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_ctx.h"
#include "sidra_drv.h"
#include "sidra_mmap.h"
#include "sidra_reset.h"
#include "sidra_trace.h"

#define RESET_TIMEOUT_MS	2000

/* Without bus mastering nothing arrives in memory, whatever the chip still does. Whether it has let go. */
static bool reset_chip(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->master_lock);
	pci_clear_master(sdev->pdev);
	if (!sidra_chip_answers(sdev))
		return false;
	sidra_write32(sdev, SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
	return !sidra_chip_wait_ready(sdev, RESET_TIMEOUT_MS);
}

static void revoke_all(struct sidra_device *sdev)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		sidra_entry_revoke(&sdev->ctx_table[slot].flags);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot])
			sidra_ctx_revoke(sdev->ctxs[slot]);
}

static void lose_all(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	u32 slot;

	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
		if (sdev->ctxs[slot] && !sdev->ctxs[slot]->lost)
			sidra_ctx_lose(sdev->ctxs[slot], cause);
}

/* One that answers and is not ready costs RESET_TIMEOUT_MS: not at each call. */
static void lose_link(struct sidra_device *sdev)
{
	sdev->link_gone = true;
	sdev->link_retry = jiffies + (sidra_chip_answers(sdev) ? HZ : 0);
}

void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	bool back;

	lockdep_assert_held(&sdev->lock);
	revoke_all(sdev);
	scoped_guard(mutex, &sdev->master_lock)
		back = !sdev->stopped && reset_chip(sdev);
	atomic64_inc(&sdev->counters.device_resets);
	trace_sidra_reset(sdev->ordinal, cause, back);
	if (!back) {
		drm_warn(&sdev->drm, "no answer after a reset: bus mastering stays off\n");
		sidra_coredump(sdev, "reset-failed", "device");
		lose_link(sdev);
	}
	lose_all(sdev, cause);
	guard(mutex)(&sdev->master_lock);
	sdev->cut = false;
	if (!back)
		return;
	pci_set_master(sdev->pdev);
	sidra_chip_enable(sdev);
}

void sidra_stop_device(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->lock);
	revoke_all(sdev);
	sidra_map_show_local(sdev, false);
	scoped_guard(mutex, &sdev->master_lock) {
		reset_chip(sdev);
		sdev->stopped = true;
	}
	lose_all(sdev, SIDRA_FAULT_RESET);
}

void sidra_cut_device(struct sidra_device *sdev)
{
	guard(mutex)(&sdev->master_lock);
	if (!sdev->cut && !sdev->stopped)
		reset_chip(sdev);
	WRITE_ONCE(sdev->cut, true);
}

int sidra_continue_device(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->lock);
	guard(mutex)(&sdev->master_lock);
	sdev->stopped = false;
	sdev->cut = false;
	if (sidra_chip_wait_ready(sdev, RESET_TIMEOUT_MS)) {
		lose_link(sdev);
		return -ENODEV;
	}
	pci_set_master(sdev->pdev);
	pci_save_state(sdev->pdev);	/* for a slot that is reset without warning */
	sidra_chip_enable(sdev);
	sidra_map_show_local(sdev, true);
	return 0;
}
