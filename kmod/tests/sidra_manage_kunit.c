// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of what firmware may answer to questions of root; included by sidra_manage.c. */
#include "sidra_fake_firmware.h"

static void manage_believes_no_impossible_clock(struct kunit *test)
{
	static const struct {
		u32 highest, levels;
		int error;
	} replies[] = {
		{ 0, 1, sizeof(struct clock) },
		{ LEVELS_MAX - 1, LEVELS_MAX, sizeof(struct clock) },
		{ 0, LEVELS_MAX + 1, -EPROTO },
		{ 0, U32_MAX, -EPROTO },
		{ 0, 0, -EPROTO },
		{ 1, 1, -EPROTO },
	};
	struct fake_firmware *firmware = fake_firmware_start(test);
	struct clock clock;
	unsigned int i;

	firmware->sdev->firmware.version = 1;
	for (i = 0; i < ARRAY_SIZE(replies); i++) {
		firmware->reply = (struct sidra_mailbox_msg){
			.inline_data = { cpu_to_le64(replies[i].highest), cpu_to_le64(1000000),
					 cpu_to_le64((u64)replies[i].levels << 32) },
		};
		KUNIT_EXPECT_EQ(test, sidra_manage_ask_clock(firmware->sdev, &clock),
				replies[i].error);
	}
}

static void manage_selects_no_slot_without_firmware(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;

	sidra_manage_init(sdev);
	KUNIT_EXPECT_EQ(test, sidra_manage_firmware_activate_store(&sdev->node, NULL, "1", 1),
			-EAGAIN);
	KUNIT_EXPECT_EQ(test, sidra_manage_firmware_activate_store(&sdev->node, NULL, "x", 1),
			-EINVAL);
	sidra_manage_end(sdev);
}

static struct kunit_case manage_cases[] = {
	KUNIT_CASE(manage_believes_no_impossible_clock),
	KUNIT_CASE(manage_selects_no_slot_without_firmware),
	{}
};

static struct kunit_suite manage_suite = {
	.name = "sidra_manage",
	.test_cases = manage_cases,
};

kunit_test_suite(manage_suite);
