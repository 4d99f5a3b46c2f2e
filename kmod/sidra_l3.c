// SPDX-License-Identifier: GPL-2.0-only
#include <linux/io.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "sidra_admin.h"
#include "sidra_device.h"
#include "sidra_l3.h"
#include "sidra_mutex.h"

static struct sidra_l3_part *sidra_l3_take_dirty(struct sidra_l3 *l3)
{
	struct sidra_l3_part *part;

	guard(spinlock_irqsave)(&l3->lock);
	part = list_first_entry_or_null(&l3->dirty, struct sidra_l3_part, link);
	if (part)
		list_del(&part->link);
	return part;
}

/* @unused: how many of its bytes were allocated until now */
static void sidra_l3_put_dirty(struct sidra_l3 *l3, struct sidra_l3_part *part, u64 unused)
{
	guard(spinlock_irqsave)(&l3->lock);
	list_add_tail(&part->link, &l3->dirty);
	l3->used -= unused;
}

/* Zeroes freed memory before others may allocate it. */
static void sidra_l3_clean(struct sidra_device *sdev)
{
	struct sidra_l3 *l3 = &sdev->l3;
	struct sidra_l3_part *part;

	lockdep_assert_held(&l3->clean_lock);
	while (!fatal_signal_pending(current) && (part = sidra_l3_take_dirty(l3))) {
		if (sidra_admin(sdev, SIDRA_ADMIN_L3_ZERO, part->offset, part->size, 0)) {
			sidra_l3_put_dirty(l3, part, 0);
			return;
		}
		scoped_guard(mutex, &l3->range_lock)
			sidra_range_free(&l3->free, part->offset, part->size);
		kfree(part);
	}
}

static void sidra_l3_clean_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(work, struct sidra_device, l3.clean_work);

	guard(rwsem_read)(&sdev->reset_lock);
	guard(mutex)(&sdev->l3.clean_lock);
	if (!sdev->stopped && !sdev->link_gone)
		sidra_l3_clean(sdev);
}

/* A drmm action, because buffers may be freed until the last file is closed. */
static void sidra_l3_fini(struct drm_device *drm, void *unused)
{
	struct sidra_l3 *l3 = &to_sidra(drm)->l3;
	struct sidra_l3_part *part;

	while ((part = sidra_l3_take_dirty(l3)))
		kfree(part);
	sidra_range_fini(&l3->free);
}

/* Marks all of L3 as dirty, since a former user may have left data in it. */
static int sidra_l3_take_all(struct sidra_l3 *l3)
{
	struct sidra_l3_part *all = kzalloc(sizeof(*all), GFP_KERNEL);
	int ret = all ? sidra_range_reserve(&l3->free, 0, l3->size) : -ENOMEM;

	if (ret) {
		kfree(all);
		return ret;
	}
	all->size = l3->size;
	sidra_l3_put_dirty(l3, all, 0);
	return 0;
}

int sidra_l3_init(struct sidra_device *sdev)
{
	struct sidra_l3 *l3 = &sdev->l3;
	int ret;

	ret = drmm_mutex_init(&sdev->drm, &l3->clean_lock) ?:
		drmm_mutex_init(&sdev->drm, &l3->range_lock);
	if (ret)
		return ret;
	spin_lock_init(&l3->lock);
	INIT_LIST_HEAD(&l3->dirty);
	INIT_WORK(&l3->clean_work, sidra_l3_clean_work);
	l3->base = pci_resource_start(sdev->pdev, SIDRA_BAR_L3);
	l3->size = min_t(u64, sdev->chip.info.l3_size, pci_resource_len(sdev->pdev, SIDRA_BAR_L3)) &
		PAGE_MASK;
	ret = l3->size ? devm_arch_io_reserve_memtype_wc(&sdev->pdev->dev, l3->base, l3->size) : 0;
	if (ret)
		return ret;
	ret = sidra_range_init(&l3->free, 0, l3->size);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(&sdev->drm, sidra_l3_fini, NULL);
	if (ret || !sdev->chip.used || !l3->size)
		return ret;
	return sidra_l3_take_all(l3);
}

static int sidra_l3_take_free(struct sidra_l3 *l3, struct sidra_l3_part *part)
{
	u64 alignment = part->size >= SIDRA_HUGE_SIZE ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE;

	guard(mutex)(&l3->range_lock);
	return sidra_range_alloc(&l3->free, part->size, alignment, 0, 0, &part->offset);
}

/* Waits for others who zero memory, and zeroes what they have left. */
static int sidra_l3_take_cleaned(struct sidra_device *sdev, struct sidra_l3_part *part)
{
	CLASS(sidra_mutex, held)(&sdev->l3.clean_lock);
	if (held.error)
		return held.error;
	sidra_l3_clean(sdev);
	if (READ_ONCE(sdev->removing))
		return -ENODEV;	/* nothing is zeroed any more */
	return sidra_l3_take_free(&sdev->l3, part);
}

struct sidra_l3_part *sidra_l3_alloc(struct sidra_device *sdev, u64 size)
{
	struct sidra_l3 *l3 = &sdev->l3;
	struct sidra_l3_part *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!part)
		return ERR_PTR(-ENOMEM);
	part->size = size;
	ret = sidra_l3_take_free(l3, part);
	if (ret == -ENOSPC)
		ret = sidra_l3_take_cleaned(sdev, part);
	if (ret) {
		kfree(part);
		return ERR_PTR(ret);
	}
	guard(spinlock_irqsave)(&l3->lock);
	l3->used += size;
	return part;
}

void sidra_l3_free(struct sidra_device *sdev, struct sidra_l3_part *part)
{
	sidra_l3_put_dirty(&sdev->l3, part, part->size);
	if (!drm_dev_is_unplugged(&sdev->drm))
		queue_work(sdev->wq, &sdev->l3.clean_work);
}

u64 sidra_l3_free_bytes(struct sidra_device *sdev)
{
	guard(spinlock_irqsave)(&sdev->l3.lock);
	return sdev->l3.size - sdev->l3.used;
}
