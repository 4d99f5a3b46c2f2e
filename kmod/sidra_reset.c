// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>

#include "sidra_ctx.h"
#include "sidra_drv.h"
#include "sidra_reset.h"
#include "sidra_trace.h"

#define RESET_TIMEOUT_MS	5000

/* Without bus mastering nothing arrives in memory, whatever the chip still does. Whether it has let go. */
static bool reset_chip(struct sidra_device *sdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(RESET_TIMEOUT_MS);
	u32 status;

	pci_clear_master(sdev->pdev);
	sidra_write32(sdev, SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
	for (;;) {
		status = sidra_read32(sdev, SIDRA_REG_STATUS);
		if (status == ~0u)
			return false;
		if (status & SIDRA_STATUS_READY)
			return true;
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 1000);
	}
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

void sidra_reset_device(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	bool back;

	lockdep_assert_held(&sdev->lock);
	revoke_all(sdev);
	back = !sdev->stopped && reset_chip(sdev);
	atomic64_inc(&sdev->counters.device_resets);
	trace_sidra_reset(sdev->ordinal, cause, back);
	if (!back) {
		drm_warn(&sdev->drm, "no answer after a reset: bus mastering stays off\n");
		sdev->link_gone = true;
	}
	lose_all(sdev, cause);
	if (!back)
		return;
	pci_set_master(sdev->pdev);
	sidra_chip_enable(sdev);
}

void sidra_stop_device(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->lock);
	revoke_all(sdev);
	reset_chip(sdev);
	sdev->stopped = true;
	lose_all(sdev, SIDRA_FAULT_RESET);
}

void sidra_continue_device(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->lock);
	sdev->stopped = false;
	pci_set_master(sdev->pdev);
	sidra_chip_enable(sdev);
}
