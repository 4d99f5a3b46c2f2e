// SPDX-License-Identifier: GPL-2.0-only
#include <linux/pci.h>

#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_mailbox.h"
#include "sidra_reset.h"

bool sidra_reset_chip(struct sidra_device *sdev)
{
	lockdep_assert_held(&sdev->master_lock);
	sidra_mailbox_close(sdev);
	pci_clear_master(sdev->pdev);
	if (!sidra_chip_answers(sdev))
		return false;
	sidra_write32(sdev, SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
	return !sidra_chip_wait_ready(sdev, SIDRA_RESET_TIMEOUT_MS);
}

void sidra_isolate_device(struct sidra_device *sdev)
{
	scoped_guard(mutex, &sdev->master_lock) {
		if (!sdev->isolated && !sdev->stopped)
			sidra_reset_chip(sdev);
		WRITE_ONCE(sdev->isolated, true);
	}
	sidra_recovery_request(sdev);
}
