/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device and its open files. Order of locks, outermost first: sidra_device.lock >
 * sidra_device.master_lock > sidra_queue.submit_lock > sidra_vector.lock > sidra_job.lock;
 * sidra_queue.fence_lock > sidra_queue.submit_lock; sidra_bo.dma_lock > sidra_device.bo_lock;
 * sidra_device.lock > sidra_device.bo_lock; sidra_device.lock, mmap_lock > sidra_device.map_lock;
 * sidra_device.lock > sidra_l3.lock, sidra_account.lock, sidra_events.lock, sidra_limits.lock: no
 * other lock is taken under these; sidra_firmware.update_lock > sidra_mailbox.lock: no other lock
 * is held with these; sidra_query.lock, sidra_telemetry_cache.lock: no other lock is held with
 * these; any lock > sidra_mailbox.gate. Signalling a fence needs only master_lock, submit_lock,
 * sidra_vector.lock and sidra_job.lock; no memory is allocated under them. Under sidra_device.lock
 * no user memory is accessed, and mmap_lock is not taken.
 *
 * Access to the chip is allowed to calls under sidra_device.lock after sidra_check_link() has
 * succeeded, and, unless sidra_device.stopped is set, to whoever rings a doorbell under submit_lock
 * or arms the chip under sidra_vector.lock. Removal first stops the device, which ends all jobs,
 * and then unplugs it. So drm_dev_enter() is only needed for short register reads without these
 * locks, and for mapping memory for DMA. drm_dev_unplug() waits for whoever is inside: code in
 * there must not wait for a fence, a user page, a signal or a lock that is held for long, and no
 * fence may depend on entering.
 */
#ifndef __SIDRA_DRV_H__
#define __SIDRA_DRV_H__

#include <linux/cdev.h>
#include <linux/cleanup.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include <sidra_accel.h>
#include <sidra_hw.h>

#include "sidra_alarm.h"
#include "sidra_chip.h"
#include "sidra_coredump.h"
#include "sidra_event.h"
#include "sidra_firmware.h"
#include "sidra_irq.h"
#include "sidra_l3.h"
#include "sidra_limits.h"
#include "sidra_mailbox.h"
#include "sidra_manage.h"
#include "sidra_query.h"
#include "sidra_store.h"
#include "sidra_telemetry.h"
#include "sidra_usage.h"

struct sidra_ctx;

/*
 * Counters for debugfs. Tests assert them, because they do not depend on the speed of the machine.
 */
struct sidra_counters {
	atomic64_t mmio_writes;
	atomic64_t mmio_reads;
	atomic64_t interrupts;
	atomic64_t ioctls;
	atomic64_t pins;		/* pages pinned so far */
	atomic64_t submits;		/* SUBMIT by ioctl or uring_cmd */
	atomic64_t submit_allocations;	/* memory allocations by them */
	atomic64_t device_resets;
	/* Periodic checks that found a due waiter: an interrupt was lost */
	atomic64_t rechecks;
};

/**
 * struct sidra_device - one chip
 * @drm: the accel device, which has the lifetime of this struct
 * @node: /dev/sidraN, holds a reference to @drm
 * @cdev: character device of @node
 * @ordinal: N
 * @pdev: the PCI device; not accessed once @drm is unplugged
 * @chip: registers, identity, admin commands
 * @mailbox, @firmware: connection to the firmware, and its state
 * @crossbars, @manage: cached queries for sysfs attributes
 * @telemetry: telemetry page for unprivileged readers
 * @hwmon: the hwmon device, or NULL
 * @alarms: alarms of @hwmon
 * @ctx_table: context table, read by the chip
 * @ctxs: contexts by their number on the chip
 * @vms: address spaces
 * @queue_count: number of queues of all contexts
 * @limits: what users hold, and may hold
 * @store: weights objects
 * @l3: L3 SRAM
 */
struct sidra_device {
	struct drm_device drm;
	struct device node;
	struct cdev cdev;
	int ordinal;
	struct pci_dev *pdev;
	phys_addr_t regs_base;	/* of BAR0 */

	/*
	 * Protects the chip's tables, the admin channel, contexts and their objects, @store,
	 * @link_gone, @stopped.
	 */
	struct mutex lock;
	struct sidra_chip chip;
	struct sidra_hw_context *ctx_table;
	dma_addr_t ctx_table_bus;
	struct sidra_ctx *ctxs[SIDRA_CONTEXTS_MAX];
	struct list_head vms;
	u32 queue_count;
	struct sidra_store store;
	bool link_gone;
	/* Jiffies before which a chip that answers but is not ready is not reset again */
	unsigned long link_retry;
	/* The driver must not access the chip, until it is resumed if ever */
	bool stopped;
	/* Stopped for good: remove() has begun, and every call that fails returns -ENODEV */
	bool gone;
	bool held;		/* stopped temporarily, by a bus reset or a suspend: calls wait */
	wait_queue_head_t held_wait;

	/* Protects bus mastering and @cut_off. */
	struct mutex master_lock;
	bool cut_off;		/* see sidra_cut_device() */

	struct sidra_l3 l3;
	struct sidra_limits limits;

	/*
	 * Protects sidra_ctx.revoked and sidra_l3.hidden: which device pages user mappings may
	 * show.
	 */
	struct mutex map_lock;

	struct sidra_vector vectors[SIDRA_MSIX_VECTORS];

	struct delayed_work watch_work;

	struct sidra_coredump coredump;

	struct sidra_mailbox mailbox;
	struct sidra_firmware firmware;
	struct sidra_query crossbars;
	struct sidra_manage manage;
	struct sidra_telemetry_cache telemetry;
	struct device *hwmon;
	struct sidra_alarms alarms;
	struct sidra_events events;

	/* Protects @bos: buffers mapped for DMA, which must be unmapped before remove() returns. */
	struct mutex bo_lock;
	struct list_head bos;

	struct workqueue_struct *wq;
	struct workqueue_struct *fence_wq;	/* work that signals fences; allocates no memory */
	struct sidra_counters counters;
};

#define to_sidra(ptr)	container_of(ptr, struct sidra_device, drm)

/* The device of a node, to which sysfs attributes belong. */
static inline struct sidra_device *sidra_of_node(struct device *node)
{
	return container_of(node, struct sidra_device, node);
}

/**
 * struct sidra_file - an open file
 * @user: the user who opened it
 * @ctxs: its contexts by handle
 * @next_ctx: handle to try next, so that a stale handle does not refer to a new context
 * @vms: its address spaces by handle
 * @next_vm: as @next_ctx
 * @notifications: number of armed eventfds and WAIT_VALUEs, at most SIDRA_NOTIFICATIONS_MAX
 * @dummy: page that revoked mappings of this file show
 * @account: its device use
 */
struct sidra_file {
	struct sidra_device *sdev;
	struct sidra_user *user;
	struct xarray ctxs;
	u32 next_ctx;
	struct xarray vms;
	u32 next_vm;
	struct page *dummy;
	atomic_t notifications;
	struct sidra_account account;
};

#define SIDRA_NOTIFICATIONS_MAX	4096

/* Counts one more notification; false if the file has reached its limit. */
static inline bool sidra_notification_get(struct sidra_file *sfile)
{
	return atomic_add_unless(&sfile->notifications, 1, SIDRA_NOTIFICATIONS_MAX);
}

static inline void sidra_notification_put(struct sidra_file *sfile)
{
	atomic_dec(&sfile->notifications);
}

#define SIDRA_DRIVER_VERSION	(2u << 16)

extern const struct file_operations sidra_fops;
int sidra_open(struct drm_device *drm, struct drm_file *file);
void sidra_show_fdinfo(struct drm_printer *p, struct drm_file *file);
void sidra_postclose(struct drm_device *drm, struct drm_file *file);

/*
 * Returns 0, or -ENODEV while the link is gone; every context is lost then. The caller holds
 * sidra_device.lock.
 */
int sidra_check_link(struct sidra_device *sdev);

/*
 * Holds sidra_device.lock until the end of a block. Another holder may wait seconds for a chip that
 * does not answer, so a fatal signal ends the wait for the lock: @error is -EINTR then.
 *   CLASS(sidra_lock, locked)(sdev): takes the lock, for calls that also work without the chip
 *   CLASS(sidra_call, call)(sdev): waits for the end of a suspend or reset, takes the lock, and
 *                                  checks that the chip answers; if not, @error is -ENODEV
 */
struct sidra_locked {
	struct sidra_device *sdev;
	int error;
};

struct sidra_locked sidra_lock(struct sidra_device *sdev);
struct sidra_locked sidra_begin_call(struct sidra_device *sdev);

static inline void sidra_unlock(const struct sidra_locked *locked)
{
	if (!locked->error)
		mutex_unlock(&locked->sdev->lock);
}

DEFINE_CLASS(sidra_lock, struct sidra_locked, sidra_unlock(&_T), sidra_lock(sdev),
	     struct sidra_device *sdev)
DEFINE_CLASS(sidra_call, struct sidra_locked, sidra_unlock(&_T), sidra_begin_call(sdev),
	     struct sidra_device *sdev)

/* Checks whether the chip answers: 0 or -errno, as for CLASS(sidra_call). */
static inline int sidra_check_device(struct sidra_device *sdev)
{
	CLASS(sidra_call, call)(sdev);
	return call.error;
}

/* The result of a call: every error becomes -ENODEV once the device is being removed. */
static inline long sidra_answer(const struct sidra_device *sdev, long ret)
{
	return ret < 0 && READ_ONCE(sdev->gone) ? -ENODEV : ret;
}

static inline int sidra_check_zero(u64 value)
{
	return value ? -EINVAL : 0;
}

#define SIDRA_IOCTL_DECLARE(name) \
	int sidra_##name##_ioctl(struct drm_device *drm, void *data, struct drm_file *file)

SIDRA_IOCTL_DECLARE(device_query);
SIDRA_IOCTL_DECLARE(device_reset);
SIDRA_IOCTL_DECLARE(vm_create);
SIDRA_IOCTL_DECLARE(vm_destroy);
SIDRA_IOCTL_DECLARE(context_create);
SIDRA_IOCTL_DECLARE(context_destroy);
SIDRA_IOCTL_DECLARE(context_query);
SIDRA_IOCTL_DECLARE(context_recover);
SIDRA_IOCTL_DECLARE(buffer_create);
SIDRA_IOCTL_DECLARE(buffer_register);
SIDRA_IOCTL_DECLARE(buffer_close);
SIDRA_IOCTL_DECLARE(buffer_bind);
SIDRA_IOCTL_DECLARE(buffer_unbind);
SIDRA_IOCTL_DECLARE(queue_create);
SIDRA_IOCTL_DECLARE(queue_destroy);
SIDRA_IOCTL_DECLARE(queue_reset);
SIDRA_IOCTL_DECLARE(queue_query);
SIDRA_IOCTL_DECLARE(wait);
SIDRA_IOCTL_DECLARE(arm);
SIDRA_IOCTL_DECLARE(submit);
SIDRA_IOCTL_DECLARE(weights_create);
SIDRA_IOCTL_DECLARE(weights_publish);
SIDRA_IOCTL_DECLARE(weights_open);
SIDRA_IOCTL_DECLARE(weights_unlink);
SIDRA_IOCTL_DECLARE(weights_destroy);
SIDRA_IOCTL_DECLARE(weights_share);
SIDRA_IOCTL_DECLARE(weights_import);
SIDRA_IOCTL_DECLARE(weights_query);
SIDRA_IOCTL_DECLARE(weights_list);
SIDRA_IOCTL_DECLARE(weights_report);

#endif
