/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions behind the calls of sidra_accel.h, each with the struct of its call. */
#ifndef __SIDRA_IOCTL_H__
#define __SIDRA_IOCTL_H__

struct drm_device;
struct drm_file;

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
