/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_DEBUGFS_H__
#define __SIDRA_DEBUGFS_H__

struct sidra_device;

#ifdef CONFIG_DEBUG_FS
void sidra_debugfs_init(struct sidra_device *sdev);
#else
static inline void sidra_debugfs_init(struct sidra_device *sdev)
{
}
#endif

#endif
