/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SIDRA_SYSFS_H__
#define __SIDRA_SYSFS_H__

#include <linux/sysfs.h>

struct device;
struct sidra_device;

/* Attributes of the node, /sys/class/sidra/sidraN. */
extern const struct attribute_group *sidra_node_groups[];

void sidra_sysfs_init(struct sidra_device *sdev);
/* Called before the node is removed: afterwards nobody waits in an attribute. */
void sidra_sysfs_end(struct sidra_device *sdev);

#endif
