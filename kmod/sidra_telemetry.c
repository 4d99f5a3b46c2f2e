// SPDX-License-Identifier: GPL-2.0-only
#include <drm/drm_managed.h>

#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_telemetry.h"

#define WINDOW		(HZ / 5)
#define WINDOW_READS	2u	/* two readings close together, to compute a rate; ten a second */

int sidra_reachable(struct sidra_device *sdev)
{
	if (READ_ONCE(sdev->held))
		return -EAGAIN;
	return READ_ONCE(sdev->stopped) || !sidra_chip_answers(sdev) ? -ENODEV : 0;
}

static int sidra_telemetry_read_page(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	__le64 *words = (__le64 *)page;
	int ret = sidra_reachable(sdev);
	unsigned int i;

	lockdep_assert_held(&sdev->telemetry.lock);
	if (ret)
		return ret;
	for (i = 0; i < sizeof(*page) / sizeof(*words); i++)
		words[i] = cpu_to_le64(sidra_read64(sdev,
						    SIDRA_BAR_TELEMETRY + i * sizeof(*words)));
	if (!sidra_chip_answers(sdev))
		return -ENODEV;	/* the link was lost meanwhile */
	if (page->magic != cpu_to_le32(SIDRA_TELEMETRY_MAGIC) ||
	    page->version != cpu_to_le16(SIDRA_TELEMETRY_VERSION) ||
	    le16_to_cpu(page->size) < sizeof(*page))
		return -ENODEV;	/* not a page of this format */
	page->size = cpu_to_le16(sizeof(*page));
	return 0;
}

static int sidra_telemetry_read_exact(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	guard(mutex)(&sdev->telemetry.lock);
	return sidra_telemetry_read_page(sdev, page);
}

int sidra_generation_read(struct sidra_device *sdev, u32 *generation)
{
	int idx, ret;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	ret = sidra_reachable(sdev);
	if (!ret)
		*generation = sidra_read32(sdev, SIDRA_REG_GENERATION);
	drm_dev_exit(idx);
	return ret;
}

int sidra_telemetry_read(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	int idx, ret;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	ret = sidra_telemetry_read_exact(sdev, page);
	drm_dev_exit(idx);
	return ret;
}

/* ---- Unprivileged readers ---- */

int sidra_telemetry_init(struct sidra_device *sdev)
{
	sdev->telemetry.window = jiffies - WINDOW;
	return drmm_mutex_init(&sdev->drm, &sdev->telemetry.lock);
}

static bool sidra_telemetry_may_read(struct sidra_telemetry_cache *cache)
{
	lockdep_assert_held(&cache->lock);
	if (time_after_eq(jiffies, cache->window + WINDOW)) {
		cache->window = jiffies;
		cache->reads = 0;
	}
	if (cache->reads == WINDOW_READS)
		return false;
	cache->reads++;
	return true;
}

/* Whether the chip is present is never cached. */
static int sidra_telemetry_read_cached(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	struct sidra_telemetry_cache *cache = &sdev->telemetry;
	int ret = sidra_reachable(sdev);

	if (ret)
		return ret;
	guard(mutex)(&cache->lock);
	if (sidra_telemetry_may_read(cache))
		cache->result = sidra_telemetry_read_page(sdev, &cache->page);
	*page = cache->page;
	return cache->result;
}

int sidra_telemetry_show(struct sidra_device *sdev, struct sidra_telemetry *page, bool exact)
{
	int idx, ret;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	ret = exact ? sidra_telemetry_read_exact(sdev, page) :
		      sidra_telemetry_read_cached(sdev, page);
	drm_dev_exit(idx);
	return ret;
}

void sidra_telemetry_renew(struct sidra_device *sdev)
{
	guard(mutex)(&sdev->telemetry.lock);
	sdev->telemetry.window = jiffies - WINDOW;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_telemetry_kunit.c"
#endif
