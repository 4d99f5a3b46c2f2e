// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes for tools that do not open the device (docs/abi/sysfs-class-sidra).
 * No reader waits for a lock whose holder may wait for the chip.
 */
#include <linux/capability.h>
#include <linux/cred.h>

#include "sidra_chip.h"
#include "sidra_compat.h"
#include "sidra_device.h"
#include "sidra_manage.h"
#include "sidra_sysfs.h"
#include "sidra_telemetry.h"
#include "sidra_update.h"

/* ---- Constant ---- */

static ssize_t uuid_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%pUb\n", sidra_of_node(node)->chip.info.uuid);
}
static DEVICE_ATTR_RO(uuid);

static ssize_t hw_version_show(struct device *node, struct device_attribute *attr, char *text)
{
	u32 version = sidra_of_node(node)->chip.info.hw_version;

	return sysfs_emit(text, "%u.%u\n", version >> 16, version & 0xffff);
}
static DEVICE_ATTR_RO(hw_version);

static ssize_t driver_version_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u.%u\n", SIDRA_DRIVER_VERSION >> 16,
			  SIDRA_DRIVER_VERSION & 0xffff);
}
static DEVICE_ATTR_RO(driver_version);

static ssize_t features_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%#llx\n", sidra_of_node(node)->chip.info.features);
}
static DEVICE_ATTR_RO(features);

static ssize_t geometry_show(struct device *node, struct device_attribute *attr, char *text)
{
	const struct sidra_info *info = &sidra_of_node(node)->chip.info;

	return sysfs_emit(text, "%u %u %u\n", info->clusters, info->cus_per_cluster,
			  info->xbars_per_cu);
}
static DEVICE_ATTR_RO(geometry);

static ssize_t l3_size_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_of_node(node)->l3.size);
}
static DEVICE_ATTR_RO(l3_size);

static ssize_t nvm_size_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_of_node(node)->chip.info.nvm_size);
}
static DEVICE_ATTR_RO(nvm_size);

/* ---- State of the driver ---- */

static ssize_t l3_free_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_l3_free_bytes(sidra_of_node(node)));
}
static DEVICE_ATTR_RO(l3_free);

static ssize_t resets_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%lld\n",
			  atomic64_read(&sidra_of_node(node)->counters.device_resets));
}
static DEVICE_ATTR_RO(resets);

/* Processes that have the device open, in the reader's PID name space; as many as fit on a page. */
static ssize_t pids_show(struct device *node, struct device_attribute *attr, char *text)
{
	struct drm_device *drm = &sidra_of_node(node)->drm;
	struct drm_file *file;
	int at = 0;

	guard(mutex)(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead) {
		pid_t pid;

		scoped_guard(rcu)
			pid = pid_vnr(rcu_dereference(file->pid));
		if (pid)
			at += sysfs_emit_at(text, at, "%d\n", pid);
	}
	return at;
}
static DEVICE_ATTR_RO(pids);

static ssize_t firmware_version_show(struct device *node, struct device_attribute *attr, char *text)
{
	u32 version = READ_ONCE(sidra_of_node(node)->firmware.version);

	return version ? sysfs_emit(text, "%s\n", sidra_version_text(version).text) :
			 sysfs_emit(text, "none\n");
}
static DEVICE_ATTR_RO(firmware_version);

/* "1" sends the image that request_firmware() finds. */
static ssize_t firmware_update_store(struct device *node, struct device_attribute *attr,
				     const char *text, size_t count)
{
	struct sidra_device *sdev = sidra_of_node(node);
	bool wanted;
	int ret;

	ret = kstrtobool(text, &wanted);
	if (ret)
		return ret;
	if (!wanted)
		return count;
	ret = sidra_update(sdev, true);
	sidra_query_forget(&sdev->manage.slots);
	return ret ?: count;
}
static DEVICE_ATTR_WO(firmware_update);

/* ---- State of the chip ---- */

static ssize_t generation_show(struct device *node, struct device_attribute *attr, char *text)
{
	u32 generation = 0;
	int ret = sidra_generation_read(sidra_of_node(node), &generation);

	return ret ?: sysfs_emit(text, "%u\n", generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t telemetry_read(struct file *filp, struct kobject *kobj,
			      sidra_bin_const struct bin_attribute *attr, char *to, loff_t offset,
			      size_t count)
{
	/* The opener's capability */
	bool exact = file_ns_capable(filp, &init_user_ns, CAP_PERFMON);
	struct sidra_device *sdev = sidra_of_node(kobj_to_dev(kobj));
	struct sidra_telemetry page;
	int ret = sidra_telemetry_show(sdev, &page, exact);

	if (ret)
		return ret;
	sidra_alarms_note(sdev, &page);
	return memory_read_from_buffer(to, count, &offset, &page, sizeof(page));
}
static BIN_ATTR_RO(telemetry, sizeof(struct sidra_telemetry));

static int sidra_sysfs_ask_crossbars(struct sidra_device *sdev, void *answer)
{
	return sidra_store_headers(sdev, answer);
}

static ssize_t crossbars_read(struct file *filp, struct kobject *kobj,
			      sidra_bin_const struct bin_attribute *attr, char *to, loff_t offset,
			      size_t count)
{
	return sidra_query_read(&sidra_of_node(kobj_to_dev(kobj))->crossbars, to, offset, count);
}
static BIN_ATTR_RO(crossbars, 0);

/* ---- Attribute groups ---- */

static struct attribute *attrs[] = {
	&dev_attr_uuid.attr,
	&dev_attr_hw_version.attr,
	&dev_attr_driver_version.attr,
	&dev_attr_features.attr,
	&dev_attr_geometry.attr,
	&dev_attr_l3_size.attr,
	&dev_attr_nvm_size.attr,
	&dev_attr_l3_free.attr,
	&dev_attr_resets.attr,
	&dev_attr_pids.attr,
	&dev_attr_firmware_version.attr,
	&dev_attr_firmware_update.attr,
	&dev_attr_generation.attr,
	NULL
};

static sidra_bin_const struct bin_attribute *bin_attrs[] = {
	&bin_attr_telemetry,
	&bin_attr_crossbars,
	NULL
};

static const struct attribute_group group = {
	.attrs = attrs,
	.bin_attrs = bin_attrs,
};

const struct attribute_group *sidra_node_groups[] = {
	&group,
	&sidra_limits_group,
	&sidra_manage_group,
	NULL
};

void sidra_sysfs_init(struct sidra_device *sdev)
{
	sidra_query_init(&sdev->crossbars, sdev,
			 sidra_xbars_of(&sdev->chip.info) * sizeof(struct sidra_hw_xbar),
			 sidra_sysfs_ask_crossbars);
	sidra_manage_init(sdev);
}

void sidra_sysfs_end(struct sidra_device *sdev)
{
	sidra_query_end(&sdev->crossbars);
	sidra_manage_end(sdev);
}
