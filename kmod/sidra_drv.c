// SPDX-License-Identifier: GPL-2.0-only
/* The module, and the PCI driver: each chip has an accel device and a node /dev/sidraN. */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/pm.h>

#include <drm/drm_accel.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_ioctl.h>

#include "sidra_admin.h"
#include "sidra_bo.h"
#include "sidra_chip.h"
#include "sidra_compat.h"
#include "sidra_ctx.h"
#include "sidra_debugfs.h"
#include "sidra_device.h"
#include "sidra_dma.h"
#include "sidra_file.h"
#include "sidra_hwmon.h"
#include "sidra_irq.h"
#include "sidra_recovery.h"
#include "sidra_sysfs.h"
#include "sidra_vm.h"
#include "sidra_watch.h"

static dev_t node_base;
static DEFINE_IDA(ordinals);

static char *sidra_drv_node_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

static struct class node_class = {
	.name = "sidra",
	.devnode = sidra_drv_node_devnode,
	.dev_groups = sidra_node_groups,
};

static struct drm_driver sidra_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
		DRIVER_SYNCOBJ_TIMELINE,
	.open = sidra_open,
	.postclose = sidra_postclose,
	.show_fdinfo = sidra_show_fdinfo,
	.gem_create_object = sidra_bo_create_object,
	.gem_prime_import = sidra_bo_prime_import,
	.gem_prime_import_sg_table = drm_gem_shmem_prime_import_sg_table,
	.fops = &sidra_fops,
	.name = "sidra",
	.desc = "SIDRA memristor accelerator",
	SIDRA_DRM_DATE.major = SIDRA_UAPI_VERSION_MAJOR,
	.minor = SIDRA_UAPI_VERSION_MINOR,
};

/* ---- Node ---- */

static void sidra_drv_node_release(struct device *node)
{
	drm_dev_put(&container_of(node, struct sidra_device, node)->drm);
}

/*
 * Called last in probe, because the node can be opened from then on. accel_open() finds the device
 * by the minor.
 */
static int sidra_drv_node_add(struct sidra_device *sdev)
{
	int ret;

	device_initialize(&sdev->node);
	drm_dev_get(&sdev->drm);
	sdev->node.class = &node_class;
	sdev->node.parent = &sdev->pdev->dev;
	sdev->node.release = sidra_drv_node_release;
	sdev->node.devt = MKDEV(MAJOR(node_base), sdev->drm.accel->index);
	cdev_init(&sdev->cdev, &sidra_fops);
	sdev->cdev.owner = THIS_MODULE;
	ret = dev_set_name(&sdev->node, "sidra%d", sdev->ordinal);
	if (!ret)
		ret = cdev_device_add(&sdev->cdev, &sdev->node);
	if (ret)
		put_device(&sdev->node);
	return ret;
}

/* ---- Start ---- */

static void sidra_drv_wq_destroy(struct drm_device *drm, void *unused)
{
	struct sidra_device *sdev = to_sidra(drm);

	if (sdev->fence_wq)
		destroy_workqueue(sdev->fence_wq);
	if (sdev->wq)
		destroy_workqueue(sdev->wq);
}

static int sidra_drv_init_software(struct sidra_device *sdev)
{
	int ret;

	init_rwsem(&sdev->reset_lock);
	spin_lock_init(&sdev->ctxs_lock);
	xa_init_flags(&sdev->vms, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	ret = drmm_mutex_init(&sdev->drm, &sdev->chip.admin_lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->store.cells_lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->store.data_lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->store.lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->coredump.lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->map_lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->bo_lock) ?:
		drmm_mutex_init(&sdev->drm, &sdev->master_lock) ?:
		sidra_telemetry_init(sdev) ?:
		sidra_peers_init(sdev) ?:
		drmm_add_action_or_reset(&sdev->drm, sidra_drv_wq_destroy, NULL);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&sdev->bos);
	sidra_limits_init(&sdev->limits);
	init_waitqueue_head(&sdev->held_wait);
	sidra_vectors_init(sdev);
	sidra_watch_init(sdev);
	sidra_recovery_init(sdev);
	sidra_events_init(sdev);
	sidra_alarms_init(sdev);
	init_completion(&sdev->chip.admin_done);
	sidra_firmware_init(sdev);
	sdev->wq = alloc_workqueue("sidra", WQ_UNBOUND | WQ_HIGHPRI, 0);
	sdev->fence_wq = alloc_workqueue("sidra-fence", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
					 0);
	return sdev->wq && sdev->fence_wq ? 0 : -ENOMEM;
}

static int sidra_drv_init_pci(struct sidra_device *sdev)
{
	struct pci_dev *pdev = sdev->pdev;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(SIDRA_BUS_BITS));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	if (!sidra_dma_coherent(&pdev->dev))
		return dev_err_probe(&pdev->dev, -EOPNOTSUPP,
				     "DMA is not cache-coherent on this machine\n");
	if (pci_resource_len(pdev, SIDRA_BAR_REGS) < SIDRA_BAR_REGS_SIZE)
		return -ENODEV;
	sdev->regs_base = pci_resource_start(pdev, SIDRA_BAR_REGS);
	sdev->chip.regs = pcim_iomap_region(pdev, SIDRA_BAR_REGS, "sidra");
	if (IS_ERR(sdev->chip.regs))
		return PTR_ERR(sdev->chip.regs);
	return pcim_request_region(pdev, SIDRA_BAR_L3, "sidra-l3");
}

static int sidra_drv_init_memory(struct sidra_device *sdev)
{
	struct device *dev = &sdev->pdev->dev;

	sdev->ctx_table = dmam_alloc_coherent(dev, SIDRA_CONTEXTS_MAX * sizeof(*sdev->ctx_table),
					      &sdev->ctx_table_bus, GFP_KERNEL);
	sdev->chip.bounce = dmam_alloc_coherent(dev, SIDRA_BOUNCE_SIZE, &sdev->chip.bounce_bus,
						GFP_KERNEL);
	sdev->chip.headers = dmam_alloc_coherent(dev, SIDRA_BOUNCE_SIZE, &sdev->chip.headers_bus,
						 GFP_KERNEL);
	return sdev->ctx_table && sdev->chip.bounce && sdev->chip.headers ? 0 : -ENOMEM;
}

static void sidra_drv_set_held(struct sidra_device *sdev, bool held)
{
	lockdep_assert_held_write(&sdev->reset_lock);
	WRITE_ONCE(sdev->held, held);
	if (held)
		return;
	wake_up_all(&sdev->held_wait);
	sidra_events_resume(sdev);
}

/* Stops the device for good, and wakes everybody who waits for it. */
static void sidra_drv_stop_for_good(struct sidra_device *sdev)
{
	lockdep_assert_held_write(&sdev->reset_lock);
	if (sdev->gone)
		return;
	/* Before anybody is woken, so that calls fail with -ENODEV */
	WRITE_ONCE(sdev->gone, true);
	sidra_stop_device(sdev);
	sidra_drv_set_held(sdev, false);
	wake_up_all(&sdev->recovery.done);
}

/*
 * Ends all jobs before drm_dev_unplug(). That waits for everybody inside drm_dev_enter(), and in
 * any driver somebody may wait in there for the fence of one of these jobs.
 */
static void sidra_drv_unplug_device(struct sidra_device *sdev)
{
	scoped_guard(rwsem_write, &sdev->reset_lock)
		sidra_drv_stop_for_good(sdev);
	drm_dev_unplug(&sdev->drm);
}

/* Undoes probe. On return the chip accesses no memory, and nothing is mapped for it. */
static void sidra_drv_stop(struct sidra_device *sdev)
{
	u32 slot;

	scoped_guard(rwsem_write, &sdev->reset_lock) {
		sidra_drv_stop_for_good(sdev);
		for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
			struct sidra_ctx *ctx = sdev->ctxs[slot];

			if (ctx)
				sidra_ctx_destroy(ctx);
		}
		sidra_vm_destroy_device(sdev);
		sidra_store_fini(sdev);
	}
	sidra_watch_stop(sdev);
	sidra_recovery_stop(sdev);
	sidra_irq_stop(sdev);
	cancel_work_sync(&sdev->l3.clean_work);
	sidra_coredump_fini(sdev);
	sidra_peers_revoke(sdev);
	sidra_bo_unmap_all(sdev);
}

static int sidra_drv_start(struct sidra_device *sdev)
{
	sidra_limits_default(sdev);
	sidra_enable_device(sdev);
	guard(rwsem_read)(&sdev->reset_lock);
	return sidra_store_init(sdev);
}

static int sidra_drv_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct sidra_device *sdev;
	int ret;

	sdev = devm_drm_dev_alloc(&pdev->dev, &sidra_driver, struct sidra_device, drm);
	if (IS_ERR(sdev))
		return PTR_ERR(sdev);
	sdev->pdev = pdev;
	sdev->ordinal = -1;
	pci_set_drvdata(pdev, sdev);
	ret = sidra_drv_init_software(sdev);
	if (ret)
		return ret;
	ret = sidra_drv_init_pci(sdev) ?:
		sidra_chip_init(sdev) ?:
		sidra_l3_init(sdev) ?:
		sidra_drv_init_memory(sdev) ?:
		sidra_mailbox_alloc(sdev) ?:
					      sidra_irq_init(sdev);
	if (ret)
		return ret;
	pci_set_master(pdev);
	sidra_coredump_init(sdev);
	sidra_sysfs_init(sdev);
	ret = sidra_drv_start(sdev);
	if (ret)
		goto err_stop;
	ret = ida_alloc_max(&ordinals, ACCEL_MAX_MINORS - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_stop;
	sdev->ordinal = ret;
	sidra_debugfs_init(sdev);
	ret = drm_dev_register(&sdev->drm, 0);
	if (ret)
		goto err_ordinal;
	ret = sidra_drv_node_add(sdev);
	if (ret)
		goto err_unregister;
	pci_save_state(pdev);	/* restored by sidra_drv_slot_reset() */
	sidra_debugfs_begin(sdev);
	sidra_events_begin(sdev);
	sidra_firmware_begin(sdev);
	sidra_hwmon_begin(sdev);
	drm_info(&sdev->drm, "sidra%d: %u crossbars, hardware interface %u.%u, %u vectors\n",
		 sdev->ordinal, sidra_xbars_of(&sdev->chip.info), sdev->chip.info.hw_version >> 16,
		 sdev->chip.info.hw_version & 0xffff, sdev->chip.vectors);
	return 0;

err_unregister:
	sidra_sysfs_end(sdev);	/* the attributes may have existed, and been read */
	sidra_drv_unplug_device(sdev);
err_ordinal:
	ida_free(&ordinals, sdev->ordinal);
err_stop:
	sidra_drv_stop(sdev);
	return ret;
}

static void sidra_drv_remove(struct pci_dev *pdev)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	sidra_admin_hurry(sdev);
	sidra_firmware_end(sdev);
	sidra_events_end(sdev);
	sidra_hwmon_end(sdev);
	sidra_sysfs_end(sdev);
	cdev_device_del(&sdev->cdev, &sdev->node);
	/* Not with the last file, so that a device that is bound again gets it */
	ida_free(&ordinals, sdev->ordinal);
	sidra_drv_unplug_device(sdev);
	sidra_drv_stop(sdev);
	put_device(&sdev->node);
}

static void sidra_drv_shutdown(struct pci_dev *pdev)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	guard(rwsem_write)(&sdev->reset_lock);
	sidra_stop_device(sdev);
}

/*
 * ---- Suspend and bus reset: calls wait until the device continues; cells and L3 keep their
 * contents ----
 */

static void sidra_drv_hold_by(struct pci_dev *pdev, void (*stop_device)(struct sidra_device *sdev))
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	guard(rwsem_write)(&sdev->reset_lock);
	stop_device(sdev);
	sidra_drv_set_held(sdev, true);
}

static void sidra_drv_hold(struct pci_dev *pdev)
{
	sidra_drv_hold_by(pdev, sidra_stop_device);
}

static int sidra_drv_restart(struct pci_dev *pdev)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);
	int ret;

	guard(rwsem_write)(&sdev->reset_lock);
	ret = sidra_resume_device(sdev);
	sidra_drv_set_held(sdev, false);
	return ret;
}

static int sidra_drv_suspend(struct device *dev)
{
	sidra_drv_hold_by(to_pci_dev(dev), sidra_suspend_device);
	return 0;
}

static int sidra_drv_resume(struct device *dev)
{
	return sidra_drv_restart(to_pci_dev(dev));
}

/* Suspend to disk: the chip loses power and the contents of L3, so all contexts are lost. */
static int sidra_drv_freeze(struct device *dev)
{
	sidra_drv_hold(to_pci_dev(dev));
	return 0;
}

static const struct dev_pm_ops sidra_pm_ops = {
	.suspend = pm_sleep_ptr(sidra_drv_suspend),
	.resume = pm_sleep_ptr(sidra_drv_resume),
	.freeze = pm_sleep_ptr(sidra_drv_freeze),
	.thaw = pm_sleep_ptr(sidra_drv_resume),
	.poweroff = pm_sleep_ptr(sidra_drv_freeze),
	.restore = pm_sleep_ptr(sidra_drv_resume),
};

static void sidra_drv_bus_resume(struct pci_dev *pdev)
{
	sidra_drv_restart(pdev);	/* if it fails, calls fail, and check the link again */
}

/* ---- Bus errors (AER). The kernel counts corrected ones without the driver ---- */

/* The device will not be resumed, so calls must not wait for that. */
static pci_ers_result_t sidra_drv_give_up(struct pci_dev *pdev)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	guard(rwsem_write)(&sdev->reset_lock);
	sidra_stop_device(sdev);
	sidra_drv_set_held(sdev, false);
	return PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t sidra_drv_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	/* Under one lock: whoever sees the dump also sees that the contexts are lost. */
	guard(rwsem_write)(&sdev->reset_lock);
	sidra_coredump(sdev, "bus-error", "%s",
		       state == pci_channel_io_normal ? "not fatal" : "fatal");
	sidra_stop_device(sdev);
	sidra_drv_set_held(sdev, state != pci_channel_io_perm_failure);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return state == pci_channel_io_normal ? PCI_ERS_RESULT_CAN_RECOVER :
						PCI_ERS_RESULT_NEED_RESET;
}

/* Used instead of sidra_chip_answers(), which is false until the kernel has resumed the device. */
static bool sidra_drv_has_identity(struct pci_dev *pdev)
{
	struct sidra_device *sdev = pci_get_drvdata(pdev);

	return sidra_read32(sdev, SIDRA_REG_ID) == SIDRA_ID_MAGIC;
}

static pci_ers_result_t sidra_drv_mmio_enabled(struct pci_dev *pdev)
{
	return sidra_drv_has_identity(pdev) ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t sidra_drv_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev);	/* restoring discards the saved state */
	return sidra_drv_has_identity(pdev) ? PCI_ERS_RESULT_RECOVERED : sidra_drv_give_up(pdev);
}

static const struct pci_error_handlers sidra_error_handlers = {
	.error_detected = sidra_drv_error_detected,
	.mmio_enabled = sidra_drv_mmio_enabled,
	.slot_reset = sidra_drv_slot_reset,
	.resume = sidra_drv_bus_resume,
	/* Function-level reset that an administrator requested */
	.reset_prepare = sidra_drv_hold,
	.reset_done = sidra_drv_bus_resume,
};

static const struct pci_device_id sidra_ids[] = {
	{ PCI_DEVICE(SIDRA_PCI_VENDOR_ID, SIDRA_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, sidra_ids);

static struct pci_driver sidra_pci_driver = {
	.name = "sidra",
	.id_table = sidra_ids,
	.probe = sidra_drv_probe,
	.remove = sidra_drv_remove,
	.shutdown = sidra_drv_shutdown,
	.err_handler = &sidra_error_handlers,
	.driver.pm = pm_sleep_ptr(&sidra_pm_ops),
};

static int __init sidra_drv_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&node_base, 0, ACCEL_MAX_MINORS, "sidra");
	if (ret)
		return ret;
	ret = class_register(&node_class);
	if (ret)
		goto err_region;
	ret = sidra_peers_begin();
	if (ret)
		goto err_class;
	ret = pci_register_driver(&sidra_pci_driver);
	if (ret)
		goto err_peers;
	return 0;

err_peers:
	sidra_peers_end();
err_class:
	class_unregister(&node_class);
err_region:
	unregister_chrdev_region(node_base, ACCEL_MAX_MINORS);
	return ret;
}
module_init(sidra_drv_init);

static void __exit sidra_drv_exit(void)
{
	pci_unregister_driver(&sidra_pci_driver);
	sidra_peers_end();
	class_unregister(&node_class);
	unregister_chrdev_region(node_base, ACCEL_MAX_MINORS);
	rcu_barrier();	/* for the callbacks that free the last fences and queues */
}
module_exit(sidra_drv_exit);

MODULE_DESCRIPTION("SIDRA memristor accelerator");
MODULE_LICENSE("GPL");
