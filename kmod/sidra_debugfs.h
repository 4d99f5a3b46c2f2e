/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_DEBUGFS_H__
#define __SIDRA_DEBUGFS_H__

struct sidra_device;

#ifdef CONFIG_DEBUG_FS
/* Before the device's nodes are registered. */
void sidra_debugfs_init(struct sidra_device *sdev);
/* After that: the register file writes to the chip as long as the device is not unplugged. */
void sidra_debugfs_begin(struct sidra_device *sdev);
#else
static inline void sidra_debugfs_init(struct sidra_device *sdev)
{
}

static inline void sidra_debugfs_begin(struct sidra_device *sdev)
{
}
#endif

#endif
