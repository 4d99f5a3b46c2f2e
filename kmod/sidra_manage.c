// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ctype.h>

#include "sidra_compat.h"
#include "sidra_device.h"
#include "sidra_manage.h"
#include "sidra_sysfs.h"
#include "sidra_telemetry.h"
#include "sidra_update.h"

#define LEVELS_MAX	16u	/* clock levels; the driver rejects an answer with more */
#define LOOK_AT_CELLS	2u	/* function of ISPP_CAMPAIGN that starts a check */
/* For all levels; shorter than a suspend waits for tasks to freeze */
#define CLOCK_PATIENCE	(5 * HZ)

/* The answer of DVFS. */
struct clock {
	u32 highest;	/* highest level allowed */
	u32 levels;
	u32 khz[LEVELS_MAX];
};

/* The answer of OP_QUERY about the latest operation. */
struct campaign {
	u32 number;	/* 0: there was none */
	u32 state;
	u32 percent;
	u64 off;
};

/* Fails at once if the firmware has not started. */
static int sidra_manage_ask(struct sidra_device *sdev, struct sidra_mailbox_msg *msg)
{
	if (!READ_ONCE(sdev->firmware.version))
		return -EAGAIN;
	return sidra_mailbox_call(sdev, msg) ?: sidra_mailbox_error(msg);
}

/* ---- Slots ---- */

static int sidra_manage_ask_slots(struct sidra_device *sdev, void *answer)
{
	if (!READ_ONCE(sdev->firmware.version))
		return -EAGAIN;
	return sidra_slots_ask(sdev, answer) ?: sizeof(struct sidra_slots);
}

static const char *sidra_manage_name_of_slot(u32 slot)
{
	switch (slot) {
	case SIDRA_SLOT_A:
		return "A";
	case SIDRA_SLOT_B:
		return "B";
	case SIDRA_SLOT_RECOVERY:
		return "recovery";
	case SIDRA_SLOT_NONE:
		return "-";
	}
	return "?";
}

static ssize_t sidra_manage_firmware_slots_show(struct device *node, struct device_attribute *attr,
						char *text)
{
	struct sidra_slots slots;
	int ret = sidra_query_get(&sidra_of_node(node)->manage.slots, &slots);

	return ret ?:
		sysfs_emit(text, "running=%s active=%s trial=%s starts=%u security=%u failed=%s\n",
			   sidra_manage_name_of_slot(slots.running),
			   sidra_manage_name_of_slot(slots.active),
			   sidra_manage_name_of_slot(slots.trial), slots.starts, slots.lowest,
			   sidra_manage_name_of_slot(slots.failed));
}

static struct device_attribute sidra_manage_firmware_slots =
	__ATTR(firmware_slots, 0444, sidra_manage_firmware_slots_show, NULL);

/* "1" selects the image of the other slot for the next reset. */
static ssize_t sidra_manage_firmware_activate_store(struct device *node,
						    struct device_attribute *attr, const char *text,
						    size_t count)
{
	struct sidra_device *sdev = sidra_of_node(node);
	bool wanted;
	u32 slot;
	int ret;

	ret = kstrtobool(text, &wanted);
	if (ret || !wanted)
		return ret ?: count;
	ret = READ_ONCE(sdev->firmware.version) ? sidra_slots_activate(sdev, &slot) : -EAGAIN;
	sidra_query_forget(&sdev->manage.slots);
	if (ret == -ENODATA)
		drm_err(&sdev->drm,
			"the other slot has no valid image: the next reset starts the same firmware\n");
	if (ret)
		return ret;
	drm_info(&sdev->drm, "the next reset of the device tries the firmware in slot %s\n",
		 sidra_manage_name_of_slot(slot));
	return count;
}

static struct device_attribute sidra_manage_firmware_activate =
	__ATTR(firmware_activate, 0200, NULL, sidra_manage_firmware_activate_store);

/* ---- Log ---- */

/* Removes everything from the firmware's text that could control a terminal. */
static int sidra_manage_ask_log(struct sidra_device *sdev, void *answer)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_LOG_RING) };
	char *text = answer;
	int ret, bytes, i;

	if (!READ_ONCE(sdev->firmware.version))
		return -EAGAIN;
	ret = sidra_mailbox_fetch(sdev, &msg, text, SIDRA_MAILBOX_PAYLOAD) ?:
		sidra_mailbox_error(&msg);
	if (ret)
		return ret;
	bytes = min_t(u64, sidra_mailbox_word(&msg, 0), SIDRA_MAILBOX_PAYLOAD);
	for (i = 0; i < bytes; i++)
		if (!isascii(text[i]) || (!isprint(text[i]) && text[i] != '\n'))
			text[i] = '?';
	return bytes;
}

ssize_t sidra_manage_log(struct sidra_device *sdev, char *to, loff_t offset, size_t count)
{
	return sidra_query_read(&sdev->manage.log, to, offset, count);
}

static ssize_t sidra_manage_firmware_log_read(struct file *filp, struct kobject *kobj,
					      sidra_bin_const struct bin_attribute *attr, char *to,
					      loff_t offset, size_t count)
{
	return sidra_manage_log(sidra_of_node(kobj_to_dev(kobj)), to, offset, count);
}

static sidra_bin_const struct bin_attribute sidra_manage_firmware_log =
	__BIN_ATTR(firmware_log, 0400, sidra_manage_firmware_log_read, NULL, 0);

/* ---- Clock ---- */

static int sidra_manage_ask_clock(struct sidra_device *sdev, void *answer)
{
	struct clock *clock = answer;
	unsigned long end = jiffies + CLOCK_PATIENCE;
	u32 level;
	int ret;

	clock->levels = 1;
	for (level = 0; level < clock->levels; level++) {
		struct sidra_mailbox_msg msg = {
			.opcode = cpu_to_le16(SIDRA_MAILBOX_DVFS),
			.length = cpu_to_le32(sizeof(msg.inline_data[0])),
			.inline_data = { cpu_to_le64(level) },
		};

		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		ret = sidra_manage_ask(sdev, &msg);
		if (ret)
			return ret;
		clock->highest = sidra_mailbox_low(&msg, 0);
		clock->khz[level] = sidra_mailbox_low(&msg, 1);
		clock->levels = sidra_mailbox_high(&msg, 2);
		if (!clock->levels || clock->levels > LEVELS_MAX || clock->highest >= clock->levels)
			return -EPROTO;
	}
	return sizeof(*clock);
}

static ssize_t sidra_manage_clock_level_show(struct device *node, struct device_attribute *attr,
					     char *text)
{
	struct clock clock;
	int ret = sidra_query_get(&sidra_of_node(node)->manage.clock, &clock);

	return ret ?: sysfs_emit(text, "%u\n", clock.highest);
}

static ssize_t sidra_manage_clock_level_store(struct device *node, struct device_attribute *attr,
					      const char *text, size_t count)
{
	struct sidra_device *sdev = sidra_of_node(node);
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_DVFS),
					 .length = cpu_to_le32(sizeof(msg.inline_data[0])) };
	u32 level;
	int ret;

	ret = kstrtou32(text, 0, &level);
	if (ret)
		return ret;
	msg.inline_data[0] = cpu_to_le64(level | 1ull << 32);	/* set, not only read */
	ret = sidra_manage_ask(sdev, &msg);
	sidra_query_forget(&sdev->manage.clock);
	sidra_telemetry_renew(sdev);
	return ret ?: count;
}

static struct device_attribute sidra_manage_clock_level =
	__ATTR(clock_level, 0644, sidra_manage_clock_level_show, sidra_manage_clock_level_store);

static ssize_t sidra_manage_clock_khz_levels_show(struct device *node,
						  struct device_attribute *attr, char *text)
{
	struct clock clock;
	int ret = sidra_query_get(&sidra_of_node(node)->manage.clock, &clock);
	int at = 0;
	u32 level;

	if (ret)
		return ret;
	for (level = 0; level < clock.levels; level++)
		at += sysfs_emit_at(text, at, "%u%c", clock.khz[level],
				    level + 1 < clock.levels ? ' ' : '\n');
	return at;
}

static struct device_attribute sidra_manage_clock_khz_levels =
	__ATTR(clock_khz_levels, 0444, sidra_manage_clock_khz_levels_show, NULL);

/* ---- Campaigns ---- */

static int sidra_manage_ask_campaign(struct sidra_device *sdev, void *answer)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_OP_QUERY) };
	struct campaign *campaign = answer;
	int ret = sidra_manage_ask(sdev, &msg);

	if (ret == -EINVAL)	/* there was no operation; the answer is all zero */
		return sizeof(*campaign);
	if (ret)
		return ret;
	campaign->number = sidra_mailbox_low(&msg, 0);
	campaign->state = sidra_mailbox_high(&msg, 0);
	campaign->percent = min_t(u64, sidra_mailbox_word(&msg, 1), 100);
	campaign->off = sidra_mailbox_word(&msg, 2);
	return sizeof(*campaign);
}

static const char *sidra_manage_name_of_state(u32 state)
{
	/* Enum sidra_operation_state */
	static const char *const names[] = { "none", "running", "done", "aborted", "failed" };

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static ssize_t sidra_manage_campaign_show(struct device *node, struct device_attribute *attr,
					  char *text)
{
	struct campaign campaign;
	int ret = sidra_query_get(&sidra_of_node(node)->manage.campaign, &campaign);

	return ret ?:
		     sysfs_emit(text, "state=%s number=%u percent=%u off=%llu\n",
				sidra_manage_name_of_state(campaign.state), campaign.number,
				campaign.percent, campaign.off);
}

/* "abort", "verify FIRST COUNT PPM", "refresh FIRST COUNT PPM" or "calibrate FIRST COUNT". */
static int sidra_manage_parse_campaign(struct sidra_device *sdev, const char *text,
				       struct sidra_mailbox_msg *msg)
{
	u64 first, crossbars, ppm;
	struct campaign running = {};
	char verb[8], more;
	int words, ret;

	if (sysfs_streq(text, "abort")) {
		ret = sidra_manage_ask_campaign(sdev, &running);
		msg->opcode = cpu_to_le16(SIDRA_MAILBOX_OP_ABORT);
		msg->length = cpu_to_le32(sizeof(msg->inline_data[0]));
		msg->inline_data[0] = cpu_to_le64(running.number);
		return ret < 0 ? ret : 0;
	}
	if (sscanf(text, "calibrate %llu %llu %c", &first, &crossbars, &more) == 2) {
		if (first > U32_MAX || crossbars > U32_MAX)
			return -EINVAL;
		msg->opcode = cpu_to_le16(SIDRA_MAILBOX_CALIBRATE);
		msg->length = cpu_to_le32(sizeof(msg->inline_data[0]));
		msg->inline_data[0] = cpu_to_le64(first | crossbars << 32);
		return 0;
	}
	words = sscanf(text, "%7s %llu %llu %llu %c", verb, &first, &crossbars, &ppm, &more);
	if (words != 4 || first > U32_MAX || crossbars > U32_MAX || ppm > U32_MAX)
		return -EINVAL;
	if (!strcmp(verb, "verify")) {
		msg->opcode = cpu_to_le16(SIDRA_MAILBOX_ISPP_CAMPAIGN);
		msg->length = cpu_to_le32(sizeof(msg->inline_data));
		msg->inline_data[0] = cpu_to_le64(LOOK_AT_CELLS);
		msg->inline_data[1] = cpu_to_le64(first | crossbars << 32);
		msg->inline_data[2] = cpu_to_le64(ppm);
		return 0;
	}
	if (strcmp(verb, "refresh"))
		return -EINVAL;
	msg->opcode = cpu_to_le16(SIDRA_MAILBOX_ISPP_REFRESH);
	msg->length = cpu_to_le32(2 * sizeof(msg->inline_data[0]));
	msg->inline_data[0] = cpu_to_le64(first | crossbars << 32);
	msg->inline_data[1] = cpu_to_le64(ppm);
	return 0;
}

static ssize_t sidra_manage_campaign_store(struct device *node, struct device_attribute *attr,
					   const char *text, size_t count)
{
	struct sidra_device *sdev = sidra_of_node(node);
	struct sidra_mailbox_msg msg = {};
	int ret = sidra_manage_parse_campaign(sdev, text, &msg) ?: sidra_manage_ask(sdev, &msg);

	sidra_query_forget(&sdev->manage.campaign);
	return ret ?: count;
}

static struct device_attribute sidra_manage_campaign =
	__ATTR(campaign, 0644, sidra_manage_campaign_show, sidra_manage_campaign_store);

/* ---- Attribute group ---- */

static struct attribute *attrs[] = {
	&sidra_manage_firmware_slots.attr,
	&sidra_manage_firmware_activate.attr,
	&sidra_manage_clock_level.attr,
	&sidra_manage_clock_khz_levels.attr,
	&sidra_manage_campaign.attr,
	NULL
};

static sidra_bin_const struct bin_attribute *bin_attrs[] = {
	&sidra_manage_firmware_log,
	NULL
};

static bool sidra_manage_has_firmware(struct kobject *kobj)
{
	return sidra_of_node(kobj_to_dev(kobj))->mailbox.memory;
}

static umode_t sidra_manage_is_visible(struct kobject *kobj, struct attribute *attr, int number)
{
	return sidra_manage_has_firmware(kobj) ? attr->mode : 0;
}

static umode_t sidra_manage_is_bin_visible(struct kobject *kobj,
					   sidra_bin_const struct bin_attribute *attr, int number)
{
	return sidra_manage_has_firmware(kobj) ? attr->attr.mode : 0;
}

const struct attribute_group sidra_manage_group = {
	.is_visible = sidra_manage_is_visible,
	.is_bin_visible = sidra_manage_is_bin_visible,
	.attrs = attrs,
	.bin_attrs = bin_attrs,
};

void sidra_manage_init(struct sidra_device *sdev)
{
	struct sidra_manage *manage = &sdev->manage;

	sidra_query_init(&manage->slots, sdev, sizeof(struct sidra_slots), sidra_manage_ask_slots);
	sidra_query_init(&manage->log, sdev, SIDRA_MAILBOX_PAYLOAD, sidra_manage_ask_log);
	sidra_query_init(&manage->clock, sdev, sizeof(struct clock), sidra_manage_ask_clock);
	sidra_query_init(&manage->campaign, sdev, sizeof(struct campaign),
			 sidra_manage_ask_campaign);
}

void sidra_manage_end(struct sidra_device *sdev)
{
	struct sidra_manage *manage = &sdev->manage;

	sidra_query_end(&manage->slots);
	sidra_query_end(&manage->log);
	sidra_query_end(&manage->clock);
	sidra_query_end(&manage->campaign);
}

void sidra_manage_forget(struct sidra_device *sdev)
{
	struct sidra_manage *manage = &sdev->manage;

	sidra_query_forget(&manage->slots);
	sidra_query_forget(&manage->log);
	sidra_query_forget(&manage->clock);
	sidra_query_forget(&manage->campaign);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_manage_kunit.c"
#endif
