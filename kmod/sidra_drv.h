/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device, and what an open file of it is. Order of locks, outermost first:
 *   sidra_device.lock > sidra_device.master_lock > sidra_queue.submit_lock > sidra_vector.lock > sidra_job.lock;
 *   sidra_queue.fence_lock > sidra_queue.submit_lock;
 *   sidra_bo.dma_lock > sidra_device.bo_lock; sidra_device.lock > sidra_device.bo_lock;
 *   sidra_device.lock, mmap_lock > sidra_device.map_lock;
 *   sidra_device.lock > sidra_l3.lock, sidra_account.lock, sidra_events.lock: no other in these;
 *   sidra_firmware.update_lock > sidra_mailbox.lock, and no other with them;
 *   sidra_query.lock, sidra_telemetry_cache.lock: no other with them;
 *   anything > sidra_mailbox.gate.
 * The end of a fence needs only master_lock, submit_lock, sidra_vector.lock and sidra_job.lock, under which no memory is allocated.
 * No memory of a user is touched, and no mmap_lock taken, under sidra_device.lock.
 *
 * Who may touch the chip: calls under sidra_device.lock, once sidra_check_link() has allowed it; whoever rings a doorbell
 * under submit_lock or arms the chip under sidra_vector.lock, unless sidra_device.stopped says otherwise. Removal stops the device
 * first, which ends all jobs, and only then unplugs it. So drm_dev_enter() is only for short reads of registers without
 * these locks, and for mapping memory for DMA: drm_dev_unplug() waits for whoever is inside, so no fence, no user page,
 * no signal and no lock that is held for long may be waited for in there, and no fence may depend on getting in.
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

#include "sidra_alarm.h"
#include "sidra_chip.h"
#include "sidra_coredump.h"
#include "sidra_event.h"
#include "sidra_firmware.h"
#include "sidra_irq.h"
#include "sidra_l3.h"
#include "sidra_mailbox.h"
#include "sidra_manage.h"
#include "sidra_query.h"
#include "sidra_store.h"
#include "sidra_telemetry.h"
#include "sidra_usage.h"

struct sidra_ctx;

/* What tests assert: counts do not depend on the machine. */
struct sidra_counters {
	atomic64_t mmio_writes;
	atomic64_t mmio_reads;
	atomic64_t interrupts;
	atomic64_t ioctls;
	atomic64_t pins;		/* pages pinned so far */
	atomic64_t submits;		/* SUBMIT by ioctl or uring_cmd */
	atomic64_t submit_allocations;	/* memory allocated by them */
	atomic64_t device_resets;
	atomic64_t rechecks;		/* looks without an interrupt that found something */
};

/**
 * struct sidra_device - one chip
 * @drm: the accel device; its lifetime is this struct's
 * @node: /dev/sidraN, holds a reference to @drm
 * @cdev: of @node
 * @ordinal: N
 * @pdev: gone for good once @drm is unplugged
 * @chip: registers, identity, admin commands
 * @mailbox, @firmware: the way to the firmware, and what is known of it
 * @crossbars, @manage: what attributes show that takes the chip some time
 * @telemetry: what they show to everybody
 * @hwmon: or NULL; @alarms: of it
 * @ctx_table: what the chip reads
 * @ctxs: contexts by their number on the chip
 * @queue_count: of all contexts
 * @store: weights objects of the array
 * @l3: SRAM
 */
struct sidra_device {
	struct drm_device drm;
	struct device node;
	struct cdev cdev;
	int ordinal;
	struct pci_dev *pdev;
	phys_addr_t regs_base;	/* of BAR0 */

	/* Protects the chip's tables, the admin channel, contexts and what they have, @store, @link_gone, @stopped. */
	struct mutex lock;
	struct sidra_chip chip;
	struct sidra_hw_context *ctx_table;
	dma_addr_t ctx_table_bus;
	struct sidra_ctx *ctxs[SIDRA_CONTEXTS_MAX];
	u32 queue_count;
	struct sidra_store store;
	bool link_gone;
	unsigned long link_retry;	/* not reset again before, if it answered without getting ready */
	bool stopped;		/* nothing reaches the chip any more, or not until it goes on */
	bool gone;		/* stopped for good: remove() has begun, and every call that fails answers -ENODEV */
	bool held;		/* stopped for a moment, by a reset of the bus or a suspend: calls wait */
	wait_queue_head_t held_wait;

	/* Protects bus mastering and @cut. */
	struct mutex master_lock;
	bool cut;		/* see sidra_cut_device() */

	struct sidra_l3 l3;

	/* Protects which doorbells and which L3 pages user mappings may show. */
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

	/* Protects @bos: what is mapped for DMA and has to be unmapped before remove() returns. */
	struct mutex bo_lock;
	struct list_head bos;

	struct workqueue_struct *wq;
	struct workqueue_struct *fence_wq;	/* what fences wait for */
	struct sidra_counters counters;
};

#define to_sidra(ptr)	container_of(ptr, struct sidra_device, drm)

/**
 * struct sidra_file - an open file
 * @ctxs: its contexts by handle
 * @next: handle to try next: a stale one does not name a new object
 * @notifications: eventfds and WAIT_VALUEs that are armed, up to SIDRA_NOTIFICATIONS_MAX
 * @dummy: what revoked mappings of this file show
 * @account: what it has used
 */
struct sidra_file {
	struct sidra_device *sdev;
	struct xarray ctxs;
	u32 next;
	struct page *dummy;
	atomic_t notifications;
	struct sidra_account account;
};

#define SIDRA_NOTIFICATIONS_MAX	4096

/* Whether the file may arm one more; each is put once it is not armed any more. */
static inline bool sidra_notification_get(struct sidra_file *sfile)
{
	return atomic_add_unless(&sfile->notifications, 1, SIDRA_NOTIFICATIONS_MAX);
}

static inline void sidra_notification_put(struct sidra_file *sfile)
{
	atomic_dec(&sfile->notifications);
}

#define SIDRA_DRIVER_VERSION	(1u << 16)

extern const struct drm_ioctl_desc sidra_ioctls[];
extern const unsigned int sidra_ioctl_count;
extern const struct file_operations sidra_fops;
int sidra_open(struct drm_device *drm, struct drm_file *file);
void sidra_show_fdinfo(struct drm_printer *p, struct drm_file *file);
void sidra_postclose(struct drm_device *drm, struct drm_file *file);

/* 0, or -ENODEV while the link is gone; every context is lost then. Under sidra_device.lock. */
int sidra_check_link(struct sidra_device *sdev);

/*
 * What a call holds sidra_device.lock by, until the end of its block. Somebody else may hold the lock for seconds while
 * he waits for a chip that does not answer: @error is -EINTR if a deadly signal came first.
 *   CLASS(sidra_lock, locked)(sdev): the lock alone, for what is done without the chip, too
 *   CLASS(sidra_call, call)(sdev): the lock and a chip that answers, after a wait for the end of a suspend or reset; else
 *                                  @error is -ENODEV
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

DEFINE_CLASS(sidra_lock, struct sidra_locked, sidra_unlock(&_T), sidra_lock(sdev), struct sidra_device *sdev)
DEFINE_CLASS(sidra_call, struct sidra_locked, sidra_unlock(&_T), sidra_begin_call(sdev), struct sidra_device *sdev)

/* Whether a call would find a chip that answers, right now. */
static inline int sidra_check_device(struct sidra_device *sdev)
{
	CLASS(sidra_call, call)(sdev);
	return call.error;
}

/* The answer of a call: whatever made it fail on a device that goes, the device is gone. */
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
SIDRA_IOCTL_DECLARE(device_clock);
SIDRA_IOCTL_DECLARE(device_reset);
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
