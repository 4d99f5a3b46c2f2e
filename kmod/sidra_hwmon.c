// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hwmon.h>
#include <linux/units.h>

#include "sidra_alarm.h"
#include "sidra_device.h"
#include "sidra_hwmon.h"
#include "sidra_telemetry.h"

static int sidra_hwmon_read_page(struct sidra_device *sdev, struct sidra_telemetry *page)
{
	int ret = sidra_telemetry_show(sdev, page, false);

	if (!ret)
		sidra_alarms_note(sdev, page);
	return ret;
}

/* Reads the telemetry page; -ENODATA if the fields of @valid are not in it. */
static int sidra_hwmon_read_valid(struct sidra_device *sdev, u64 valid,
				  struct sidra_telemetry *page)
{
	int ret = sidra_hwmon_read_page(sdev, page);

	if (ret)
		return ret;
	return (le64_to_cpu(page->valid) & valid) == valid ? 0 : -ENODATA;
}

static int sidra_hwmon_read_alarm(struct sidra_device *sdev, enum sidra_alarm alarm, long *value)
{
	struct sidra_telemetry page;
	int ret = sidra_hwmon_read_page(sdev, &page) ?: sidra_alarm_state(&page, alarm);

	if (ret < 0)
		return ret;
	*value = ret;
	return 0;
}

static int sidra_hwmon_read_temperature(struct sidra_device *sdev, u32 attr, long *value)
{
	struct sidra_telemetry page;
	int ret;

	switch (attr) {
	case hwmon_temp_max_alarm:
		return sidra_hwmon_read_alarm(sdev, SIDRA_ALARM_MAX, value);
	case hwmon_temp_crit_alarm:
		return sidra_hwmon_read_alarm(sdev, SIDRA_ALARM_CRIT, value);
	}
	ret = sidra_hwmon_read_valid(sdev,
				     attr == hwmon_temp_input ? SIDRA_TELEMETRY_HAS_THERMAL :
								SIDRA_TELEMETRY_HAS_LIMITS,
				     &page);
	if (ret)
		return ret;
	switch (attr) {
	case hwmon_temp_input:
		*value = (s32)le32_to_cpu(page.temperature_mc);
		return 0;
	case hwmon_temp_max:
		*value = (s32)le32_to_cpu(page.temperature_max_mc);
		return 0;
	default:	/* hwmon_temp_crit */
		*value = (s32)le32_to_cpu(page.temperature_crit_mc);
		return 0;
	}
}

static int sidra_hwmon_read_power(struct sidra_device *sdev, u32 attr, long *value)
{
	struct sidra_telemetry page;
	int ret;

	if (attr == hwmon_power_cap_alarm)
		return sidra_hwmon_read_alarm(sdev, SIDRA_ALARM_CAP, value);
	ret = sidra_hwmon_read_valid(sdev,
				     attr == hwmon_power_input ? SIDRA_TELEMETRY_HAS_POWER :
								 SIDRA_TELEMETRY_HAS_LIMITS,
				     &page);
	if (ret)
		return ret;
	switch (attr) {
	case hwmon_power_input:
		*value = (long)le32_to_cpu(page.power_mw) * MICROWATT_PER_MILLIWATT;
		return 0;
	case hwmon_power_cap_min:
		*value = (long)le32_to_cpu(page.power_limit_min_mw) * MICROWATT_PER_MILLIWATT;
		return 0;
	default:	/* hwmon_power_cap_max */
		*value = (long)le32_to_cpu(page.power_limit_max_mw) * MICROWATT_PER_MILLIWATT;
		return 0;
	}
}

static int sidra_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			    long *value)
{
	struct sidra_device *sdev = dev_get_drvdata(dev);

	return type == hwmon_temp ? sidra_hwmon_read_temperature(sdev, attr, value) :
				    sidra_hwmon_read_power(sdev, attr, value);
}

static int sidra_hwmon_read_string(struct device *dev, enum hwmon_sensor_types type, u32 attr,
				   int channel, const char **text)
{
	*text = type == hwmon_temp ? "die" : "chip";
	return 0;
}

static umode_t sidra_hwmon_is_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				      int channel)
{
	return 0444;
}

static const struct hwmon_ops ops = {
	.is_visible = sidra_hwmon_is_visible,
	.read = sidra_hwmon_read,
	.read_string = sidra_hwmon_read_string,
};

static const struct hwmon_channel_info *const channels[] = {
	HWMON_CHANNEL_INFO(temp,
			   HWMON_T_INPUT | HWMON_T_LABEL | HWMON_T_MAX | HWMON_T_CRIT |
				   HWMON_T_MAX_ALARM | HWMON_T_CRIT_ALARM),
	HWMON_CHANNEL_INFO(power,
			   HWMON_P_INPUT | HWMON_P_LABEL | HWMON_P_CAP_MIN | HWMON_P_CAP_MAX |
				   HWMON_P_CAP_ALARM),
	NULL
};

static const struct hwmon_chip_info chip_info = {
	.ops = &ops,
	.info = channels,
};

/* hwmon has no frequency sensors, so these use the attribute names of other accelerators. */
static ssize_t sidra_hwmon_freq1_input_show(struct device *dev, struct device_attribute *attr,
					    char *text)
{
	struct sidra_telemetry page;
	int ret = sidra_hwmon_read_valid(dev_get_drvdata(dev), SIDRA_TELEMETRY_HAS_POWER, &page);

	return ret ?: sysfs_emit(text, "%llu\n", (u64)le32_to_cpu(page.clock_khz) * HZ_PER_KHZ);
}

static struct device_attribute sidra_hwmon_freq1_input =
	__ATTR(freq1_input, 0444, sidra_hwmon_freq1_input_show, NULL);

static ssize_t sidra_hwmon_freq1_label_show(struct device *dev, struct device_attribute *attr,
					    char *text)
{
	return sysfs_emit(text, "clock\n");
}

static struct device_attribute sidra_hwmon_freq1_label =
	__ATTR(freq1_label, 0444, sidra_hwmon_freq1_label_show, NULL);

/*
 * The power limit is an attribute of our own as well. Since 6.18 the hwmon core serialises all
 * accesses to its own attributes, and a writer of the limit waits for the firmware: readers of the
 * other attributes would have to wait, too.
 */
static ssize_t sidra_hwmon_power1_cap_show(struct device *dev, struct device_attribute *attr,
					   char *text)
{
	struct sidra_telemetry page;
	int ret = sidra_hwmon_read_valid(dev_get_drvdata(dev), SIDRA_TELEMETRY_HAS_LIMITS, &page);

	return ret ?:
		     sysfs_emit(text, "%llu\n",
				(u64)le32_to_cpu(page.power_limit_mw) * MICROWATT_PER_MILLIWATT);
}

/* 0 restores the chip's own limit. */
static ssize_t sidra_hwmon_power1_cap_store(struct device *dev, struct device_attribute *attr,
					    const char *text, size_t count)
{
	struct sidra_device *sdev = dev_get_drvdata(dev);
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_POWER_LIMIT),
					 .length = cpu_to_le32(sizeof(msg.inline_data[0])) };
	long value;
	int ret;

	ret = kstrtol(text, 10, &value);
	if (ret)
		return ret;
	if (value < 0 || value / MICROWATT_PER_MILLIWATT > U32_MAX ||
	    (value && value < MICROWATT_PER_MILLIWATT))
		return -EINVAL;
	if (!READ_ONCE(sdev->firmware.version))
		return -EAGAIN;
	/* Set, not only read */
	msg.inline_data[0] = cpu_to_le64((u32)(value / MICROWATT_PER_MILLIWATT) | 1ull << 32);
	ret = sidra_mailbox_call(sdev, &msg) ?: sidra_mailbox_error(&msg);
	sidra_telemetry_renew(sdev);
	return ret ?: count;
}

static struct device_attribute sidra_hwmon_power1_cap =
	__ATTR(power1_cap, 0644, sidra_hwmon_power1_cap_show, sidra_hwmon_power1_cap_store);

static struct attribute *hwmon_attrs[] = {
	&sidra_hwmon_freq1_input.attr,
	&sidra_hwmon_freq1_label.attr,
	&sidra_hwmon_power1_cap.attr,
	NULL
};

static umode_t sidra_hwmon_attr_is_visible(struct kobject *kobj, struct attribute *attr, int number)
{
	struct sidra_device *sdev = dev_get_drvdata(kobj_to_dev(kobj));

	return attr == &sidra_hwmon_power1_cap.attr && !sdev->mailbox.memory ? 0444 : attr->mode;
}

static const struct attribute_group hwmon_group = {
	.is_visible = sidra_hwmon_attr_is_visible,
	.attrs = hwmon_attrs,
};
__ATTRIBUTE_GROUPS(hwmon);

void sidra_hwmon_begin(struct sidra_device *sdev)
{
	struct device *hwmon = hwmon_device_register_with_info(&sdev->pdev->dev, "sidra", sdev,
							       &chip_info, hwmon_groups);

	if (IS_ERR(hwmon))
		drm_notice(&sdev->drm, "no sensors: registration with hwmon failed (error %ld)\n",
			   PTR_ERR(hwmon));
	else
		WRITE_ONCE(sdev->hwmon, hwmon);	/* read by interrupt handlers */
}

void sidra_hwmon_end(struct sidra_device *sdev)
{
	sidra_alarms_end(sdev);
	if (sdev->hwmon)
		hwmon_device_unregister(sdev->hwmon);
}
