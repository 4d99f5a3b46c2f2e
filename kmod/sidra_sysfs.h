/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_SYSFS_H__
#define __SIDRA_SYSFS_H__

#include <linux/sysfs.h>

/* Of the node, /sys/class/sidra/sidraN. */
extern const struct attribute_group *sidra_node_groups[];

#endif
