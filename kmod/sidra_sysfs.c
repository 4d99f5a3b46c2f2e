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

static ssize_t sidra_sysfs_uuid_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%pUb\n", sidra_of_node(node)->chip.info.uuid);
}

static struct device_attribute sidra_sysfs_uuid = __ATTR(uuid, 0444, sidra_sysfs_uuid_show, NULL);

static ssize_t sidra_sysfs_hw_version_show(struct device *node, struct device_attribute *attr,
					   char *text)
{
	u32 version = sidra_of_node(node)->chip.info.hw_version;

	return sysfs_emit(text, "%u.%u\n", version >> 16, version & 0xffff);
}

static struct device_attribute sidra_sysfs_hw_version =
	__ATTR(hw_version, 0444, sidra_sysfs_hw_version_show, NULL);

static ssize_t sidra_sysfs_driver_version_show(struct device *node, struct device_attribute *attr,
					       char *text)
{
	return sysfs_emit(text, "%u.%u\n", SIDRA_DRIVER_VERSION >> 16,
			  SIDRA_DRIVER_VERSION & 0xffff);
}

static struct device_attribute sidra_sysfs_driver_version =
	__ATTR(driver_version, 0444, sidra_sysfs_driver_version_show, NULL);

static ssize_t sidra_sysfs_features_show(struct device *node, struct device_attribute *attr,
					 char *text)
{
	return sysfs_emit(text, "%#llx\n", sidra_of_node(node)->chip.info.features);
}

static struct device_attribute sidra_sysfs_features =
	__ATTR(features, 0444, sidra_sysfs_features_show, NULL);

static ssize_t sidra_sysfs_geometry_show(struct device *node, struct device_attribute *attr,
					 char *text)
{
	const struct sidra_info *info = &sidra_of_node(node)->chip.info;

	return sysfs_emit(text, "%u %u %u\n", info->clusters, info->cus_per_cluster,
			  info->xbars_per_cu);
}

static struct device_attribute sidra_sysfs_geometry =
	__ATTR(geometry, 0444, sidra_sysfs_geometry_show, NULL);

static ssize_t sidra_sysfs_l3_size_show(struct device *node, struct device_attribute *attr,
					char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_of_node(node)->l3.size);
}

static struct device_attribute sidra_sysfs_l3_size =
	__ATTR(l3_size, 0444, sidra_sysfs_l3_size_show, NULL);

static ssize_t sidra_sysfs_nvm_size_show(struct device *node, struct device_attribute *attr,
					 char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_of_node(node)->chip.info.nvm_size);
}

static struct device_attribute sidra_sysfs_nvm_size =
	__ATTR(nvm_size, 0444, sidra_sysfs_nvm_size_show, NULL);

/* ---- State of the driver ---- */

static ssize_t sidra_sysfs_l3_free_show(struct device *node, struct device_attribute *attr,
					char *text)
{
	return sysfs_emit(text, "%llu\n", sidra_l3_free_bytes(sidra_of_node(node)));
}

static struct device_attribute sidra_sysfs_l3_free =
	__ATTR(l3_free, 0444, sidra_sysfs_l3_free_show, NULL);

static ssize_t sidra_sysfs_resets_show(struct device *node, struct device_attribute *attr,
				       char *text)
{
	return sysfs_emit(text, "%lld\n",
			  atomic64_read(&sidra_of_node(node)->counters.device_resets));
}

static struct device_attribute sidra_sysfs_resets =
	__ATTR(resets, 0444, sidra_sysfs_resets_show, NULL);

/* Processes that have the device open, in the reader's PID name space; as many as fit on a page. */
static ssize_t sidra_sysfs_pids_show(struct device *node, struct device_attribute *attr, char *text)
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

static struct device_attribute sidra_sysfs_pids = __ATTR(pids, 0444, sidra_sysfs_pids_show, NULL);

static ssize_t sidra_sysfs_firmware_version_show(struct device *node, struct device_attribute *attr,
						 char *text)
{
	u32 version = READ_ONCE(sidra_of_node(node)->firmware.version);

	return version ? sysfs_emit(text, "%s\n", sidra_version_text(version).text) :
			 sysfs_emit(text, "none\n");
}

static struct device_attribute sidra_sysfs_firmware_version =
	__ATTR(firmware_version, 0444, sidra_sysfs_firmware_version_show, NULL);

/* "1" sends the image that request_firmware() finds. */
static ssize_t sidra_sysfs_firmware_update_store(struct device *node, struct device_attribute *attr,
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

static struct device_attribute sidra_sysfs_firmware_update =
	__ATTR(firmware_update, 0200, NULL, sidra_sysfs_firmware_update_store);

/* ---- State of the chip ---- */

static ssize_t sidra_sysfs_generation_show(struct device *node, struct device_attribute *attr,
					   char *text)
{
	u32 generation = 0;
	int ret = sidra_generation_read(sidra_of_node(node), &generation);

	return ret ?: sysfs_emit(text, "%u\n", generation);
}

static struct device_attribute sidra_sysfs_generation =
	__ATTR(generation, 0444, sidra_sysfs_generation_show, NULL);

static ssize_t sidra_sysfs_telemetry_read(struct file *filp, struct kobject *kobj,
					  sidra_bin_const struct bin_attribute *attr, char *to,
					  loff_t offset, size_t count)
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

static sidra_bin_const struct bin_attribute sidra_sysfs_telemetry =
	__BIN_ATTR(telemetry, 0444, sidra_sysfs_telemetry_read, NULL,
		   sizeof(struct sidra_telemetry));

static int sidra_sysfs_ask_crossbars(struct sidra_device *sdev, void *answer)
{
	return sidra_store_headers(sdev, answer);
}

static ssize_t sidra_sysfs_crossbars_read(struct file *filp, struct kobject *kobj,
					  sidra_bin_const struct bin_attribute *attr, char *to,
					  loff_t offset, size_t count)
{
	return sidra_query_read(&sidra_of_node(kobj_to_dev(kobj))->crossbars, to, offset, count);
}

static sidra_bin_const struct bin_attribute sidra_sysfs_crossbars =
	__BIN_ATTR(crossbars, 0444, sidra_sysfs_crossbars_read, NULL, 0);

/* ---- Attribute groups ---- */

static struct attribute *attrs[] = {
	&sidra_sysfs_uuid.attr,
	&sidra_sysfs_hw_version.attr,
	&sidra_sysfs_driver_version.attr,
	&sidra_sysfs_features.attr,
	&sidra_sysfs_geometry.attr,
	&sidra_sysfs_l3_size.attr,
	&sidra_sysfs_nvm_size.attr,
	&sidra_sysfs_l3_free.attr,
	&sidra_sysfs_resets.attr,
	&sidra_sysfs_pids.attr,
	&sidra_sysfs_firmware_version.attr,
	&sidra_sysfs_firmware_update.attr,
	&sidra_sysfs_generation.attr,
	NULL
};

static sidra_bin_const struct bin_attribute *bin_attrs[] = {
	&sidra_sysfs_telemetry,
	&sidra_sysfs_crossbars,
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
