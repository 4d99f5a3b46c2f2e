// SPDX-License-Identifier: GPL-2.0-only
#include <linux/firmware.h>
#include <linux/module.h>

#include "image/image.h"

#include "sidra_device.h"
#include "sidra_mutex.h"
#include "sidra_update.h"

#define IMAGE_NAME	"sidra/y1-runtime.fw"
MODULE_FIRMWARE(IMAGE_NAME);

/* major << 24 | minor << 16 | patch, the firmware's format. */
#define DRIVER_VERSION	(SIDRA_DRIVER_VERSION >> 16 << 24 | (SIDRA_DRIVER_VERSION & 0xffff) << 16)
/* For a whole image; shorter than a suspend waits for tasks to freeze */
#define SEND_MS		15000
#define BUILD_ID_SIZE	sizeof_field(struct sidra_fw_header, build_id)

static int sidra_update_error_of(enum sidra_image_family family)
{
	switch (family) {
	case SIDRA_IMAGE_FAMILY_NONE:
		return 0;
	case SIDRA_IMAGE_FAMILY_TRANSFER:
		return -EIO;
	case SIDRA_IMAGE_FAMILY_CORRUPT:
		return -EBADMSG;
	case SIDRA_IMAGE_FAMILY_AUTHENTICITY:
		return -EKEYREJECTED;
	case SIDRA_IMAGE_FAMILY_ROLLBACK:
		return -EKEYREVOKED;
	case SIDRA_IMAGE_FAMILY_UNFIT:
		return -EINVAL;
	case SIDRA_IMAGE_FAMILY_UNKNOWN:
		break;
	}
	return -EREMOTEIO;
}

/*
 * Logs who refused the image and why. @versions: the versions of both sides, if they are the
 * reason.
 */
static int sidra_update_refuse(struct sidra_device *sdev, const char *who,
			       enum sidra_image_result result, const char *versions)
{
	enum sidra_image_family family = sidra_image_family_of(result);

	drm_err(&sdev->drm, "%s: refused by %s: %s: %s%s\n", IMAGE_NAME, who,
		sidra_image_family_text(family), sidra_image_text(result), versions);
	return sidra_update_error_of(family);
}

/* Formats both versions, if they are the reason for @result. */
static void sidra_update_put_versions(char *text, size_t size, const struct sidra_fw_header *header,
				      const struct sidra_slots *slots,
				      enum sidra_image_result result)
{
	u32 mailbox = header->api[SIDRA_FW_API_MAILBOX];

	*text = '\0';
	if (result == SIDRA_IMAGE_CHIP)
		snprintf(text, size, " (it is for chip %#x, this is %#x)", header->chip_id,
			 SIDRA_PCI_DEVICE_ID);
	else if (result == SIDRA_IMAGE_API)
		snprintf(text, size, " (it has mailbox version %u.%u, this driver %u.%u)",
			 mailbox >> 16, mailbox & 0xffff, SIDRA_MAILBOX_VERSION >> 16,
			 SIDRA_MAILBOX_VERSION & 0xffff);
	else if (result == SIDRA_IMAGE_DRIVER)
		snprintf(text, size, " (it needs %s, this is %s)",
			 sidra_version_text(header->min_driver).text,
			 sidra_version_text(DRIVER_VERSION).text);
	else if (result == SIDRA_IMAGE_ROLLBACK)
		snprintf(text, size, " (it is %u, and the chip requires %u)",
			 header->security_version, slots->lowest);
}

/* Checks what can be checked without the key; the chip checks the rest. */
static int sidra_update_check(struct sidra_device *sdev, const struct firmware *file,
			      const struct sidra_slots *slots, struct sidra_image *image)
{
	const struct sidra_image_policy policy = {
		.ram_end = 1ull << 32,	/* the chip knows where its RAM is */
		.chip_id = SIDRA_PCI_DEVICE_ID,
		.type = SIDRA_FW_RUNTIME,
		.api_major = { [SIDRA_FW_API_MAILBOX] = SIDRA_MAILBOX_VERSION >> 16 },
		.driver_version = DRIVER_VERSION,
		.min_security_version = slots->lowest,
	};
	enum sidra_image_result result = sidra_image_check_header(file->data, file->size, image);
	char versions[80];

	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_fit(image, &policy);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_rollback(image, &policy);
	if (result == SIDRA_IMAGE_OK)
		return 0;
	sidra_update_put_versions(versions, sizeof(versions), &image->header, slots, result);
	return sidra_update_refuse(sdev, "the driver", result, versions);
}

static int sidra_update_status_of(struct sidra_device *sdev, const struct sidra_mailbox_msg *msg,
				  int ret, const char *what)
{
	if (!ret && msg->status == cpu_to_le32(SIDRA_MAILBOX_OK))
		return 0;
	drm_err(&sdev->drm, "%s: not stored: %s failed (error %d, status %u)\n", IMAGE_NAME, what,
		ret, ret ? 0 : le32_to_cpu(msg->status));
	return ret ?: -EIO;
}

/* Reads the build id of the running firmware; zeros if it is too old to know. */
static int sidra_update_ask_build(struct sidra_device *sdev, u8 *build_id)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_FW_BUILD) };
	int ret = sidra_mailbox_call(sdev, &msg);

	memset(build_id, 0, BUILD_ID_SIZE);
	if (!ret && msg.status == cpu_to_le32(SIDRA_MAILBOX_UNSUPPORTED))
		return 0;
	ret = sidra_update_status_of(sdev, &msg, ret, "FW_BUILD");
	if (!ret)
		memcpy(build_id, msg.inline_data, BUILD_ID_SIZE);
	return ret;
}

/* Whether the image is already running, as far as the driver can tell. */
static bool sidra_update_runs(struct sidra_device *sdev, const struct sidra_fw_header *header,
			      const struct sidra_slots *slots, const u8 *build_id)
{
	/* The recovery image runs only if no other does. */
	if (slots->running == SIDRA_SLOT_RECOVERY || header->version != slots->version ||
	    header->security_version != sdev->firmware.security_version)
		return false;
	return !memchr_inv(header->build_id, 0, BUILD_ID_SIZE) ||
		!memchr_inv(build_id, 0, BUILD_ID_SIZE) ||
		!memcmp(header->build_id, build_id, BUILD_ID_SIZE);
}

int sidra_slots_ask(struct sidra_device *sdev, struct sidra_slots *slots)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_FW_INFO) };
	int ret = sidra_mailbox_call(sdev, &msg) ?: sidra_mailbox_error(&msg);

	slots->active = sidra_mailbox_low(&msg, 0);
	slots->trial = sidra_mailbox_high(&msg, 0);
	slots->running = sidra_mailbox_low(&msg, 1);
	slots->starts = sidra_mailbox_high(&msg, 1) & 0xffff;
	slots->failed = (sidra_mailbox_high(&msg, 1) >> 16) - 1;
	slots->version = sidra_mailbox_low(&msg, 2);
	slots->lowest = sidra_mailbox_high(&msg, 2);
	return ret;
}

/*
 * Sends the image in pieces. From the first one on, the slot has no valid image until the chip has
 * verified the whole.
 */
static int sidra_update_send(struct sidra_device *sdev, const struct firmware *file, u32 *slot)
{
	struct sidra_mailbox_msg begin = {
		.opcode = cpu_to_le16(SIDRA_MAILBOX_FW_BEGIN),
		.length = cpu_to_le32(sizeof(begin.inline_data[0])),
		.inline_data = { cpu_to_le64(file->size) },
	};
	unsigned long end = jiffies + msecs_to_jiffies(SEND_MS);
	size_t offset, piece;
	int ret;

	ret = sidra_mailbox_call(sdev, &begin);
	if (!ret && begin.status == cpu_to_le32(SIDRA_MAILBOX_BAD_ARGUMENT)) {
		drm_err(&sdev->drm, "%s: not stored: %zu bytes do not fit in a slot of the chip\n",
			IMAGE_NAME, file->size);
		return -EFBIG;
	}
	if (!ret && begin.status == cpu_to_le32(SIDRA_MAILBOX_BUSY)) {
		drm_err(&sdev->drm,
			"%s: not stored: the running firmware is on trial and not confirmed yet\n",
			IMAGE_NAME);
		return -EAGAIN;
	}
	ret = sidra_update_status_of(sdev, &begin, ret, "FW_BEGIN");
	if (ret)
		return ret;
	*slot = sidra_mailbox_low(&begin, 0);
	piece = min_t(u64, sidra_mailbox_word(&begin, 1), SIDRA_MAILBOX_PAYLOAD);
	if (!piece)
		return sidra_update_status_of(sdev, &begin, -EPROTO, "FW_BEGIN");
	for (offset = 0; offset < file->size; offset += piece) {
		struct sidra_mailbox_msg data = { .opcode = cpu_to_le16(SIDRA_MAILBOX_FW_DATA),
						  .inline_data = { cpu_to_le64(offset) } };

		if (time_after(jiffies, end))
			return sidra_update_status_of(sdev, &data, -ETIMEDOUT, "FW_DATA");
		piece = min(piece, file->size - offset);
		ret = sidra_mailbox_send(sdev, &data, file->data + offset, piece);
		ret = sidra_update_status_of(sdev, &data, ret, "FW_DATA");
		if (ret)
			return ret;
	}
	return 0;
}

static int sidra_update_commit(struct sidra_device *sdev)
{
	struct sidra_mailbox_msg msg = {
		.opcode = cpu_to_le16(SIDRA_MAILBOX_FW_COMMIT),
		.length = cpu_to_le32(sizeof(msg.inline_data[0])),
		.inline_data = { cpu_to_le64(1) },	/* try it at the next start */
	};
	int ret = sidra_mailbox_call(sdev, &msg);

	if (!ret && msg.status == cpu_to_le32(SIDRA_MAILBOX_BAD_ARGUMENT) &&
	    sidra_mailbox_low(&msg, 0))
		return sidra_update_refuse(sdev, "the chip", sidra_mailbox_low(&msg, 0), "");
	return sidra_update_status_of(sdev, &msg, ret, "FW_COMMIT");
}

static int sidra_update_update(struct sidra_device *sdev, const struct firmware *file, bool asked)
{
	struct sidra_image image;
	struct sidra_slots slots;
	u8 build_id[BUILD_ID_SIZE];
	u32 slot;
	int ret;

	ret = sidra_slots_ask(sdev, &slots);
	if (ret) {
		drm_err(&sdev->drm, "%s: not stored: FW_INFO failed (error %d)\n", IMAGE_NAME, ret);
		return ret;
	}
	ret = sidra_update_ask_build(sdev, build_id);
	if (!ret)
		ret = sidra_update_check(sdev, file, &slots, &image);
	if (ret)
		return ret;
	if (sidra_update_runs(sdev, &image.header, &slots, build_id)) {
		if (asked)
			drm_info(&sdev->drm, "%s: firmware %s is already running\n", IMAGE_NAME,
				 sidra_version_text(slots.version).text);
		return 0;
	}
	if (!asked && slots.trial != SIDRA_SLOT_NONE)
		return 0;
	drm_info(&sdev->drm,
		 "%s: storing firmware %s, build %4phN, %zu bytes; running: %s, build %4phN\n",
		 IMAGE_NAME, sidra_version_text(image.header.version).text, image.header.build_id,
		 file->size, sidra_version_text(slots.version).text, build_id);
	ret = sidra_update_send(sdev, file, &slot) ?: sidra_update_commit(sdev);
	if (!ret)
		drm_info(&sdev->drm,
			 "%s: stored and verified in slot %u: the next reset of the device tries it\n",
			 IMAGE_NAME, slot);
	return ret;
}

int sidra_slots_activate(struct sidra_device *sdev, u32 *slot)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_FW_ACTIVATE) };
	int ret;

	CLASS(sidra_mutex, held)(&sdev->firmware.update_lock);
	ret = held.error ?: sidra_mailbox_call(sdev, &msg);
	if (!ret && msg.status == cpu_to_le32(SIDRA_MAILBOX_BAD_ARGUMENT))
		ret = -ENODATA;
	*slot = sidra_mailbox_low(&msg, 0);
	return ret ?: sidra_mailbox_error(&msg);
}

int sidra_update(struct sidra_device *sdev, bool asked)
{
	const struct firmware *file;
	int ret;

	CLASS(sidra_mutex, held)(&sdev->firmware.update_lock);
	if (held.error)
		return held.error;
	if (!READ_ONCE(sdev->firmware.version)) {
		drm_err(&sdev->drm, "%s: not stored: the chip's firmware is not running\n",
			IMAGE_NAME);
		return -EAGAIN;
	}
	ret = firmware_request_nowarn(&file, IMAGE_NAME, &sdev->pdev->dev);
	if (ret) {
		if (asked)
			drm_err(&sdev->drm, "%s: cannot be read (error %d)\n", IMAGE_NAME, ret);
		return ret;
	}
	ret = sidra_update_update(sdev, file, asked);
	release_firmware(file);
	return ret;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_update_kunit.c"
#endif
