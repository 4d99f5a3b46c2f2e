/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device, and its locks. Calls hold sidra_device.reset_lock shared; who resets, suspends,
 * resumes or removes the device holds it exclusively, so that nobody is in a call then. What may
 * take long (page tables, commands that the chip executes, the directory of names) is done under
 * locks of what it works on: sidra_ctx.lock, sidra_vm.lock, sidra_store.cells_lock,
 * sidra_store.data_lock and sidra_l3.clean_lock. The chip has one channel for commands, and so
 * there is one sidra_chip.admin_lock, which is held for a command or two. Calls wait for these
 * locks until a fatal signal comes (sidra_call.h), where they can fail at all.
 *
 * Order of locks, outermost first:
 *   reset_lock > sidra_ctx.lock > sidra_vm.lock > sidra_chip.admin_lock
 *   sidra_ctx.lock > sidra_store.cells_lock, sidra_store.data_lock > sidra_chip.admin_lock,
 *     sidra_store.lock
 *   reset_lock > sidra_l3.clean_lock > sidra_chip.admin_lock
 *   sidra_chip.admin_lock > sidra_device.master_lock > sidra_queue.submit_lock >
 *     sidra_vector.lock > sidra_job.lock
 *   sidra_ctx.lock, sidra_chip.admin_lock > sidra_coredump.lock > sidra_device.ctxs_lock
 *   sidra_queue.fence_lock > sidra_queue.submit_lock
 *   sidra_bo.dma_lock, sidra_vm.lock > sidra_device.bo_lock, dma_resv
 *   reset_lock > sidra_peers.lock > dma_resv
 *   sidra_ctx.lock, mmap_lock > sidra_device.map_lock
 *   sidra_firmware.update_lock > sidra_mailbox.lock
 * Under sidra_l3.range_lock, sidra_l3.lock, sidra_account.lock, sidra_events.lock,
 * sidra_limits.lock, sidra_refusal.lock and sidra_mailbox.gate no other lock is taken; with
 * sidra_query.lock and sidra_telemetry_cache.lock none is held before. Signalling a fence needs
 * only master_lock, submit_lock, sidra_vector.lock and sidra_job.lock; no memory is allocated under
 * them. Under reset_lock no user memory is accessed, and mmap_lock is not taken.
 *
 * Access to the chip is allowed to calls that began with CLASS(sidra_call), and, unless
 * sidra_device.stopped is set, to whoever rings a doorbell under submit_lock or arms the chip under
 * sidra_vector.lock. Removal first stops the device, which ends all jobs, and then unplugs it. So
 * drm_dev_enter() is only needed for short register reads without these locks, and for mapping
 * memory for DMA. drm_dev_unplug() waits for whoever is inside: code in there must not wait for a
 * fence, a user page, a signal or a lock that is held for long, and no fence may depend on
 * entering.
 */
#ifndef __SIDRA_DEVICE_H__
#define __SIDRA_DEVICE_H__

#include <linux/cdev.h>
#include <linux/cleanup.h>
#include <linux/device.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
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
#include "sidra_peer.h"
#include "sidra_query.h"
#include "sidra_store.h"
#include "sidra_telemetry.h"
#include "sidra_usage.h"

struct sidra_ctx;

/**
 * struct sidra_counters - counters for debugfs, which do not depend on the speed of the machine
 * @mmio_writes: registers written, counted once somebody has read the counters of a card, like the
 *               next five
 * @mmio_reads: registers read
 * @interrupts: interrupts handled
 * @ioctls: calls
 * @submits: SUBMITs by ioctl or uring_cmd
 * @submit_allocations: memory allocations by them
 * @pins: pages pinned
 * @device_resets: resets of the device
 * @rechecks: periodic checks that found a due waiter: an interrupt was lost
 */
struct sidra_counters {
	atomic64_t mmio_writes;
	atomic64_t mmio_reads;
	atomic64_t interrupts;
	atomic64_t ioctls;
	atomic64_t submits;
	atomic64_t submit_allocations;
	atomic64_t pins;
	atomic64_t device_resets;
	atomic64_t rechecks;
};

/* Whether events of the hot path are counted. */
DECLARE_STATIC_KEY_FALSE(sidra_counting);

#define sidra_count(sdev, counter) \
	do { \
		if (static_branch_unlikely(&sidra_counting)) \
			atomic64_inc(&(sdev)->counters.counter); \
	} while (0)

/**
 * struct sidra_recovery - what has to be done about a chip that does not do what it was told
 * @work: sidra_recover()
 * @requested: @work is to run, or runs; read without a lock
 * @dumped: what led to the isolation is in a dump; protected by sidra_chip.admin_lock
 * @done: calls that wait until @work has run
 */
struct sidra_recovery {
	struct work_struct work;
	bool requested;
	bool dumped;
	wait_queue_head_t done;
};

/**
 * struct sidra_watch_busy - the watchdog's look at a context that was in a call
 * @work: waits for its end, and checks the queues
 * @sdev: the device
 */
struct sidra_watch_busy {
	struct work_struct work;
	struct sidra_device *sdev;
};

#define SIDRA_DRIVER_VERSION	(2u << 16)

/**
 * struct sidra_device - one chip
 * @drm: the accel device, which has the lifetime of this struct
 * @node: /dev/sidraN, holds a reference to @drm
 * @cdev: character device of @node
 * @ordinal: N
 * @pdev: the PCI device; not accessed once @drm is unplugged
 * @regs_base: bus address of BAR0, for mappings of doorbells
 * @reset_lock: held exclusively to change @link_gone, @link_retry, @quiescing, @stopped, @gone and
 *              @held
 * @chip: registers, identity, admin commands
 * @mailbox: connection to the firmware
 * @firmware: its state
 * @crossbars: cached query for the sysfs attributes of crossbars
 * @manage: cached queries for those of root
 * @telemetry: telemetry page for unprivileged readers
 * @hwmon: the hwmon device, or NULL
 * @alarms: alarms of @hwmon
 * @events: uevents that were not sent yet
 * @bo_lock: protects @bos
 * @bos: buffers mapped for DMA, which must be unmapped before remove() returns
 * @bos_unmapping: those that were taken off @bos, and whose mapping is being undone
 * @wq: work that may take @reset_lock
 * @fence_wq: work that signals fences; allocates no memory
 * @counters: counters for debugfs
 * @ctx_table: context table, read by the chip
 * @ctx_table_bus: its bus address
 * @ctxs_lock: protects @ctxs
 * @ctxs: contexts by their number on the chip
 * @vms: address spaces, struct sidra_vm by id
 * @queue_count: number of queues of all contexts
 * @limits: what users hold, and may hold
 * @store: weights objects
 * @link_gone: the chip does not answer, and every context was lost for it
 * @link_seen: jiffies at which the chip answered a call
 * @link_retry: jiffies before which a chip that answers but is not ready is not reset again
 * @quiescing: a suspend has waited for the queues, and stops the device next: no more packets are
 *             published
 * @stopped: the driver must not access the chip, until it is resumed if ever
 * @removing: remove() has begun, and waits for calls: nobody waits long for the chip any more; set
 *            without a lock
 * @gone: stopped for good by remove(): every call that fails returns -ENODEV
 * @held: stopped temporarily, by a bus reset or a suspend: calls wait
 * @held_wait: calls that wait for the end of @held
 * @master_lock: protects bus mastering and @isolated
 * @isolated: no DMA of the chip reaches memory, see sidra_isolate_device()
 * @recovery: what has to be done about that
 * @l3: L3 SRAM
 * @peers: what other cards have of it
 * @map_lock: protects sidra_ctx.revoked and sidra_l3.hidden: which device pages user mappings may
 *            show
 * @vectors: MSI-X vectors, and the queues of each
 * @watch_work: the watchdog
 * @watch_busy: what it left for later, by the context's number on the chip
 * @coredump: the text of a dump that was not fetched
 */
struct sidra_device {
	struct drm_device drm;
	struct device node;
	struct cdev cdev;
	int ordinal;
	struct pci_dev *pdev;
	phys_addr_t regs_base;

	struct rw_semaphore reset_lock;
	struct sidra_chip chip;
	struct sidra_hw_context *ctx_table;
	dma_addr_t ctx_table_bus;
	spinlock_t ctxs_lock;	/* of @ctxs */
	struct sidra_ctx *ctxs[SIDRA_CONTEXTS_MAX];
	struct xarray vms;
	atomic_t queue_count;
	struct sidra_store store;
	bool link_gone;
	unsigned long link_seen;
	unsigned long link_retry;
	bool quiescing;
	bool stopped;
	bool removing;
	bool gone;
	bool held;
	wait_queue_head_t held_wait;

	struct mutex master_lock;	/* of bus mastering and @isolated */
	bool isolated;
	struct sidra_recovery recovery;

	struct sidra_l3 l3;
	struct sidra_peers peers;
	struct sidra_limits limits;

	struct mutex map_lock;	/* of what mappings show */

	struct sidra_vector vectors[SIDRA_MSIX_VECTORS];

	struct delayed_work watch_work;
	struct sidra_watch_busy watch_busy[SIDRA_CONTEXTS_MAX];

	struct sidra_coredump coredump;

	struct sidra_mailbox mailbox;
	struct sidra_firmware firmware;
	struct sidra_query crossbars;
	struct sidra_manage manage;
	struct sidra_telemetry_cache telemetry;
	struct device *hwmon;
	struct sidra_alarms alarms;
	struct sidra_events events;

	struct mutex bo_lock;	/* of @bos */
	struct list_head bos;
	atomic_t bos_unmapping;

	struct workqueue_struct *wq;
	struct workqueue_struct *fence_wq;
	struct sidra_counters counters;
};

#define to_sidra(ptr)	container_of(ptr, struct sidra_device, drm)

/*
 * Requests a recovery, in any context. Here, as those who find out that one is needed depend on
 * nothing of sidra_recovery.h, which depends on them.
 */
static inline void sidra_recovery_request(struct sidra_device *sdev)
{
	WRITE_ONCE(sdev->recovery.requested, true);
	queue_work(sdev->wq, &sdev->recovery.work);
}

/* The device of a node, to which sysfs attributes belong. */
static inline struct sidra_device *sidra_of_node(struct device *node)
{
	return container_of(node, struct sidra_device, node);
}

#endif
