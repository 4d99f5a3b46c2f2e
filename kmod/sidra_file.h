/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files. */
#ifndef __SIDRA_FILE_H__
#define __SIDRA_FILE_H__

#include <linux/xarray.h>

#include <drm/drm_file.h>

#include "sidra_device.h"
#include "sidra_refusal.h"
#include "sidra_usage.h"

/**
 * struct sidra_file - an open file
 * @sdev: the device
 * @user: the user who opened it
 * @ctxs: its contexts by handle
 * @next_ctx: handle to try next, so that a stale handle does not refer to a new context
 * @vms: its address spaces by handle
 * @next_vm: as @next_ctx
 * @notifications: number of armed eventfds and WAIT_VALUEs, at most SIDRA_NOTIFICATIONS_MAX
 * @dummy: page that revoked mappings of this file show
 * @account: its device use
 * @refusal: the argument that a call refused last
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
	struct sidra_refusal refusal;
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

extern const struct file_operations sidra_fops;
int sidra_open(struct drm_device *drm, struct drm_file *file);
void sidra_show_fdinfo(struct drm_printer *p, struct drm_file *file);
void sidra_postclose(struct drm_device *drm, struct drm_file *file);

#endif
