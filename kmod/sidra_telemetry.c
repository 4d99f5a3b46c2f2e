// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_drv.h"
#include "sidra_telemetry.h"

int sidra_reachable(struct sidra_device *sdev)
{
	if (READ_ONCE(sdev->held))
		return -EAGAIN;
	return READ_ONCE(sdev->stopped) || !sidra_chip_answers(sdev) ? -ENODEV : 0;
}

static int read_page(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	u64 *words = (u64 *)page;
	int ret = sidra_reachable(sdev);
	unsigned int i;

	if (ret)
		return ret;
	for (i = 0; i < sizeof(*page) / sizeof(*words); i++)
		words[i] = sidra_read64(sdev, SIDRA_BAR_TELEMETRY + i * sizeof(*words));
	if (page->magic != SIDRA_TELEMETRY_MAGIC || page->version != SIDRA_TELEMETRY_VERSION ||
	    page->size < offsetof(struct sidra_telemetry, engine_ns))
		return -ENODEV;	/* it went meanwhile, or never spoke the language */
	page->size = min_t(u16, page->size, sizeof(*page));
	memset((u8 *)page + page->size, 0, sizeof(*page) - page->size);
	return 0;
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
	ret = read_page(sdev, page);
	drm_dev_exit(idx);
	return ret;
}
