// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the exchange of versions; included by sidra_firmware.c. */
#include "sidra_fake_firmware.h"

#define VERSION		0x02010003u

static void firmware_of_another_interface_is_refused(struct kunit *test)
{
	static const struct {
		u32 status, length;
		u64 mailbox, version;
		int error;
	} replies[] = {
		{ SIDRA_MAILBOX_OK, 24, SIDRA_MAILBOX_VERSION, VERSION, 0 },
		/* A later minor version is compatible. */
		{ SIDRA_MAILBOX_OK, 24, SIDRA_MAILBOX_VERSION + 1, VERSION, 0 },
		{ SIDRA_MAILBOX_OK, 24, SIDRA_MAILBOX_VERSION + 0x10000, VERSION, -EPROTO },
		{ SIDRA_MAILBOX_UNSUPPORTED, 24, SIDRA_MAILBOX_VERSION, VERSION, -EPROTO },
		{ SIDRA_MAILBOX_BUSY, 24, SIDRA_MAILBOX_VERSION, VERSION, -EPROTO },
		{ SIDRA_MAILBOX_OK, 16, SIDRA_MAILBOX_VERSION, VERSION, -EPROTO },
		{ SIDRA_MAILBOX_OK, 24, SIDRA_MAILBOX_VERSION, 0, -EPROTO },
	};
	struct fake_firmware *firmware = fake_firmware_start(test);
	struct sidra_device *sdev = firmware->sdev;
	unsigned int i;

	sidra_manage_init(sdev);
	for (i = 0; i < ARRAY_SIZE(replies); i++) {
		sdev->firmware.version = 0;
		firmware->reply = (struct sidra_mailbox_msg){
			.status = cpu_to_le32(replies[i].status),
			.length = cpu_to_le32(replies[i].length),
			.inline_data = { cpu_to_le64(replies[i].mailbox),
					 cpu_to_le64(replies[i].version) },
		};
		KUNIT_EXPECT_EQ(test, sidra_firmware_say_hello(sdev), replies[i].error);
		KUNIT_EXPECT_EQ_MSG(test, sdev->firmware.version, replies[i].error ? 0 : VERSION,
				    "nobody uses firmware that was refused");
	}
	sidra_manage_end(sdev);
}

static struct kunit_case firmware_cases[] = {
	KUNIT_CASE(firmware_of_another_interface_is_refused),
	{}
};

static struct kunit_suite firmware_suite = {
	.name = "sidra_firmware",
	.test_cases = firmware_cases,
};

kunit_test_suite(firmware_suite);
