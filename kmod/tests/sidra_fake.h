/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device without hardware, for KUnit tests. Its registers are plain memory; its configuration
 * space only has COMMAND.
 */
#ifndef __SIDRA_FAKE_H__
#define __SIDRA_FAKE_H__

#include <kunit/test.h>
#include <linux/vmalloc.h>

#include "../sidra_ctx.h"
#include "../sidra_device.h"
#include "../sidra_irq.h"
#include "../sidra_recovery.h"
#include "../sidra_watch.h"

/**
 * struct sidra_fake - the device, and what it is connected to
 * @sdev: the device
 * @pdev: its PCI function
 * @bus: the bus of the function, whose configuration space is @command
 * @command: the register COMMAND
 * @inode: of the address space that mappings belong to
 */
struct sidra_fake {
	struct sidra_device sdev;
	struct pci_dev pdev;
	struct pci_bus bus;
	u16 command;
	struct inode inode;
};

static int fake_config_read(struct pci_bus *bus, unsigned int devfn, int where, int size,
			    u32 *value)
{
	struct sidra_fake *fake = container_of(bus, struct sidra_fake, bus);

	*value = where == PCI_COMMAND ? fake->command : 0;
	return PCIBIOS_SUCCESSFUL;
}

static int fake_config_write(struct pci_bus *bus, unsigned int devfn, int where, int size,
			     u32 value)
{
	if (where == PCI_COMMAND)
		container_of(bus, struct sidra_fake, bus)->command = value;
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops fake_pci_ops = {
	.read = fake_config_read,
	.write = fake_config_write,
};

static void fake_end(void *data)
{
	struct sidra_device *sdev = data;

	unsigned int i;

	for (i = 0; i < SIDRA_MSIX_VECTORS; i++)
		cancel_delayed_work_sync(&sdev->vectors[i].recheck_work);
	sidra_watch_stop(sdev);
	sidra_recovery_stop(sdev);
	destroy_workqueue(sdev->fence_wq);
	destroy_workqueue(sdev->wq);
	vfree((void __force *)sdev->chip.regs);
}

/*
 * A queue on vector 1. Its patience does not end during a test, because its timer is already
 * running for an hour.
 */
static __maybe_unused void fake_timeline_init(struct sidra_device *sdev,
					      struct sidra_timeline *timeline, u32 slot, u32 queue)
{
	sidra_timeline_init(timeline, &sdev->vectors[1], slot, queue);
	hrtimer_start(&timeline->patience, ms_to_ktime(3600 * MSEC_PER_SEC), HRTIMER_MODE_REL);
}

/*
 * Creates a device that answers, is ready, and has bus mastering enabled. Not inlined, so that the
 * sweep of refused memory knows it by its name.
 */
static noinline struct sidra_fake *fake_device(struct kunit *test)
{
	struct sidra_fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct sidra_device *sdev = &fake->sdev;
	void *regs;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	static_branch_enable(&sidra_counting);
	fake->bus.ops = &fake_pci_ops;
	fake->pdev.bus = &fake->bus;
	fake->pdev.error_state = pci_channel_io_normal;
	fake->pdev.pcie_cap = 0x80;
	fake->pdev.is_busmaster = 1;
	fake->command = PCI_COMMAND_MASTER;
	inode_init_once(&fake->inode);
	fake->inode.i_mapping = &fake->inode.i_data;
	sdev->pdev = &fake->pdev;
	sdev->drm.anon_inode = &fake->inode;
	init_rwsem(&sdev->reset_lock);
	spin_lock_init(&sdev->ctxs_lock);
	mutex_init(&sdev->chip.admin_lock);
	mutex_init(&sdev->coredump.lock);
	mutex_init(&sdev->map_lock);
	mutex_init(&sdev->master_lock);
	init_waitqueue_head(&sdev->held_wait);
	init_completion(&sdev->chip.admin_done);
	sidra_firmware_init(sdev);
	sidra_vectors_init(sdev);
	sidra_watch_init(sdev);
	sidra_recovery_init(sdev);
	sidra_events_init(sdev);
	sdev->coredump.length = 1;	/* prevents dumps, which nobody would read */
	sdev->ctx_table = kunit_kcalloc(test, SIDRA_CONTEXTS_MAX, sizeof(*sdev->ctx_table),
					GFP_KERNEL);
	regs = vzalloc(SIDRA_BAR_REGS_SIZE);
	sdev->chip.regs = (__force void __iomem *)regs;
	sdev->wq = alloc_workqueue("sidra-test", WQ_UNBOUND, 0);
	sdev->fence_wq = alloc_workqueue("sidra-test-fence", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	KUNIT_ASSERT_TRUE(test, sdev->ctx_table && sdev->chip.regs && sdev->wq && sdev->fence_wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_end, sdev), 0);
	/* No periodic check runs during a test, even on a slow machine: it is due in an hour. */
	queue_delayed_work(sdev->fence_wq, &sdev->vectors[1].recheck_work, 3600 * HZ);
	writel(SIDRA_ID_MAGIC, sdev->chip.regs + SIDRA_REG_ID);
	writel(SIDRA_STATUS_READY, sdev->chip.regs + SIDRA_REG_STATUS);
	return fake;
}

static __maybe_unused u64 fake_writes(struct sidra_device *sdev)
{
	return atomic64_read(&sdev->counters.mmio_writes);
}

static __maybe_unused u64 fake_reads(struct sidra_device *sdev)
{
	return atomic64_read(&sdev->counters.mmio_reads);
}

#endif
