// SPDX-License-Identifier: GPL-2.0-only
/* What tools read without opening the device: identity, generation, and the telemetry page as it is. */
#include "sidra_compat.h"
#include "sidra_drv.h"
#include "sidra_sysfs.h"
#include "sidra_update.h"

static struct sidra_device *from_node(struct device *node)
{
	return container_of(node, struct sidra_device, node);
}

static ssize_t uuid_show(struct device *node, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%pUb\n", from_node(node)->chip.info.uuid);
}
static DEVICE_ATTR_RO(uuid);

static ssize_t hw_version_show(struct device *node, struct device_attribute *attr, char *text)
{
	u32 version = from_node(node)->chip.info.hw_version;

	return sysfs_emit(text, "%u.%u\n", version >> 16, version & 0xffff);
}
static DEVICE_ATTR_RO(hw_version);

static ssize_t firmware_version_show(struct device *node, struct device_attribute *attr, char *text)
{
	u32 version = READ_ONCE(from_node(node)->firmware.version);

	return version ? sysfs_emit(text, "%s\n", sidra_version_text(version).text) : sysfs_emit(text, "none\n");
}
static DEVICE_ATTR_RO(firmware_version);

/* "1": sends the image that request_firmware() finds. */
static ssize_t firmware_update_store(struct device *node, struct device_attribute *attr, const char *text, size_t count)
{
	struct sidra_device *sdev = from_node(node);
	bool wanted;
	int ret;

	ret = kstrtobool(text, &wanted);
	if (ret)
		return ret;
	return wanted ? sidra_update(sdev, true) ?: count : count;
}
static DEVICE_ATTR_WO(firmware_update);

static ssize_t generation_show(struct device *node, struct device_attribute *attr, char *text)
{
	struct sidra_device *sdev = from_node(node);
	u32 generation;
	int idx, ret;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	scoped_guard(mutex, &sdev->lock) {
		ret = sidra_check_link(sdev);
		generation = ret ? 0 : sidra_read32(sdev, SIDRA_REG_GENERATION);
	}
	drm_dev_exit(idx);
	return ret ?: sysfs_emit(text, "%u\n", generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t telemetry_read(struct file *filp, struct kobject *kobj, sidra_bin_const struct bin_attribute *attr,
			      char *to, loff_t offset, size_t count)
{
	struct sidra_device *sdev = from_node(kobj_to_dev(kobj));
	struct sidra_telemetry page;
	unsigned int at;
	u64 word;
	int idx;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	for (at = 0; at < sizeof(page); at += sizeof(word)) {
		word = sidra_read64(sdev, SIDRA_BAR_TELEMETRY + at);
		memcpy((u8 *)&page + at, &word, sizeof(word));
	}
	drm_dev_exit(idx);
	if (page.magic != SIDRA_TELEMETRY_MAGIC)
		return -ENODEV;
	return memory_read_from_buffer(to, count, &offset, &page, sizeof(page));
}
static BIN_ATTR_RO(telemetry, sizeof(struct sidra_telemetry));

static struct attribute *attrs[] = {
	&dev_attr_uuid.attr,
	&dev_attr_hw_version.attr,
	&dev_attr_firmware_version.attr,
	&dev_attr_firmware_update.attr,
	&dev_attr_generation.attr,
	NULL
};

static sidra_bin_const struct bin_attribute *bin_attrs[] = {
	&bin_attr_telemetry,
	NULL
};

static const struct attribute_group group = {
	.attrs = attrs,
	.bin_attrs = bin_attrs,
};

const struct attribute_group *sidra_node_groups[] = {
	&group,
	NULL
};
