// SPDX-License-Identifier: GPL-2.0-only
/* Calls about the whole device. */
#include <linux/capability.h>
#include <linux/timekeeping.h>

#include "sidra_args.h"
#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_file.h"
#include "sidra_ioctl.h"
#include "sidra_limits.h"
#include "sidra_recovery.h"
#include "sidra_refusal.h"

/* What DEVICE_QUERY returns. */
union sidra_answer {
	struct sidra_query_device info;
	struct sidra_query_status status;
	struct sidra_query_clock clock;
	struct sidra_query_limits limits;
	struct sidra_query_refusal refusal;
};

static void sidra_info_fill(struct sidra_device *sdev, struct sidra_query_device *to)
{
	const struct sidra_info *info = &sdev->chip.info;

	to->kind = SIDRA_DEVICE_MODEL;	/* there is no silicon with these PCI ids */
	to->uapi_version = SIDRA_UAPI_VERSION_MAJOR << 16 | SIDRA_UAPI_VERSION_MINOR;
	to->hw_version = info->hw_version;
	to->driver_version = SIDRA_DRIVER_VERSION;
	to->features = info->features;
	to->clusters = info->clusters;
	to->cus_per_cluster = info->cus_per_cluster;
	to->xbars_per_cu = info->xbars_per_cu;
	to->rows = info->rows;
	to->cols = info->cols;
	to->contexts_max = info->contexts;
	to->queues_max = info->queues;
	to->queues_per_context_max = info->queues_per_context;
	to->xbars_total = sidra_xbars_of(info);
	to->va_bits = info->va_bits;
	to->l1_size = info->l1_size;
	to->l2_size = info->l2_size;
	to->l3_size = sdev->l3.size;
	memcpy(to->uuid, info->uuid, sizeof(to->uuid));
}

static void sidra_info_status(struct sidra_device *sdev, struct sidra_query_status *to)
{
	u32 firmware = READ_ONCE(sdev->firmware.version), slot;

	scoped_guard(spinlock, &sdev->ctxs_lock)
		for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++)
			to->contexts += !!sdev->ctxs[slot];
	to->generation = sidra_read32(sdev, SIDRA_REG_GENERATION);
	to->firmware_version = firmware >> 24 << 16 | (firmware >> 16 & 0xff);
	to->queues = atomic_read(&sdev->queue_count);
	to->xbars_free = READ_ONCE(sdev->store.xbars.free);
	to->l3_free = sidra_l3_free_bytes(sdev);
}

static void sidra_info_clock(struct sidra_device *sdev, struct sidra_query_clock *to)
{
	u64 before, device, after, best = U64_MAX;
	unsigned int i;

	for (i = 0; i < 4; i++) {	/* several times, as a preemption makes a reading inexact */
		before = ktime_get_ns();
		device = sidra_read64(sdev, SIDRA_REG_CLOCK);
		after = ktime_get_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		to->device_ns = device;
		to->monotonic_ns = before + best / 2;
		to->error_ns = best - best / 2;
	}
}

/* Returns the size of an answer with values from registers, or -ENODEV if they may be none. */
static int sidra_info_read(struct sidra_device *sdev, size_t size)
{
	return sidra_chip_answers(sdev) ? size : -ENODEV;
}

/* Returns the size of the answer. */
static int sidra_info_answer(struct sidra_device *sdev, struct drm_file *file,
			     const struct sidra_ioctl_device_query *args,
			     union sidra_answer *answer)
{
	struct sidra_file *sfile = file->driver_priv;

	if (args->query == SIDRA_QUERY_REFUSAL) {
		sidra_refusal_query(file, &answer->refusal);
		return sizeof(answer->refusal);
	}

	CLASS(sidra_call, call)(sdev, NULL);
	if (call.error)
		return call.error;
	switch (args->query) {
	case SIDRA_QUERY_DEVICE:
		sidra_info_fill(sdev, &answer->info);
		return sizeof(answer->info);
	case SIDRA_QUERY_STATUS:
		sidra_info_status(sdev, &answer->status);
		return sidra_info_read(sdev, sizeof(answer->status));
	case SIDRA_QUERY_CLOCK:
		sidra_info_clock(sdev, &answer->clock);
		return sidra_info_read(sdev, sizeof(answer->clock));
	case SIDRA_QUERY_LIMITS:
		sidra_limits_query(sdev, sfile->user, &answer->limits);
		return sizeof(answer->limits);
	default:
		return sidra_refuse(file, args->query, -EINVAL);
	}
}

int sidra_device_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_device_query *args = data;
	union sidra_answer answer = {};
	u32 room = args->size;
	int ret;

	ret = sidra_check_zero(file, args->flags) ?:
		sidra_check_zero(file, args->pad) ?:
		sidra_check_arg(file, args->size, args->size <= SIDRA_STRIDE_MAX);
	args->size = 0;
	if (ret)
		return ret;
	ret = sidra_info_answer(to_sidra(drm), file, args, &answer);
	if (ret < 0)
		return ret;
	args->size = room;
	if (sidra_args_return(args->data, &args->size, &answer, ret))
		return sidra_refuse(file, args->data, -EFAULT);
	return 0;
}

int sidra_device_reset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct sidra_ioctl_device_reset *args = data;
	struct sidra_device *sdev = to_sidra(drm);
	int ret = sidra_check_zero(file, args->flags);

	if (ret)
		return ret;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;

	CLASS(sidra_exclusive, call)(sdev);
	if (call.error)
		return call.error;
	sidra_reset_device(sdev, SIDRA_FAULT_RESET);
	return sdev->link_gone ? -ENODEV : 0;
}
