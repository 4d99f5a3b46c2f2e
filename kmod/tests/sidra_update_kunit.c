// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of firmware that does not store an image; included by sidra_update.c. */
#include "sidra_fake_firmware.h"

static void update_that_is_not_stored_is_an_error(struct kunit *test)
{
	static const struct {
		u32 status;
		u64 piece;
		int error;
		unsigned int requests;
	} replies[] = {
		{ SIDRA_MAILBOX_BAD_ARGUMENT, 4096, -EFBIG, 1 },	/* larger than a slot */
		{ SIDRA_MAILBOX_BUSY, 4096, -EAGAIN, 1 },	/* on trial */
		{ SIDRA_MAILBOX_INTERNAL, 4096, -EIO, 1 },
		{ SIDRA_MAILBOX_OK, 0, -EPROTO, 1 },	/* pieces without a size */
		{ SIDRA_MAILBOX_OK, 4096, 0, 3 },
		{ SIDRA_MAILBOX_OK, U64_MAX, 0, 3 },	/* not more than fits in the payload */
	};
	struct fake_firmware *firmware = fake_firmware_start(test);
	const struct firmware file = {
		.size = 4097,
		.data = kunit_kzalloc(test, 4097, GFP_KERNEL),
	};
	unsigned int i, before;
	u32 slot;

	KUNIT_ASSERT_NOT_NULL(test, file.data);
	for (i = 0; i < ARRAY_SIZE(replies); i++) {
		before = firmware->answered;
		firmware->reply = (struct sidra_mailbox_msg){
			.status = cpu_to_le32(replies[i].status),
			.inline_data = { cpu_to_le64(1), cpu_to_le64(replies[i].piece) },
		};
		KUNIT_EXPECT_EQ(test, sidra_update_send(firmware->sdev, &file, &slot),
				replies[i].error);
		KUNIT_EXPECT_EQ(test, firmware->answered - before, replies[i].requests);
	}
}

/* The firmware refuses a piece after it has accepted the size. */
static void update_ends_with_the_first_piece_that_is_refused(struct kunit *test)
{
	struct fake_firmware *firmware = fake_firmware_start(test);
	const struct firmware file = {
		.size = 4097,
		.data = kunit_kzalloc(test, 4097, GFP_KERNEL),
	};
	u32 slot;

	KUNIT_ASSERT_NOT_NULL(test, file.data);
	firmware->reply.inline_data[1] = cpu_to_le64(1);
	firmware->refused_opcode = SIDRA_MAILBOX_FW_DATA;
	KUNIT_EXPECT_EQ(test, sidra_update_send(firmware->sdev, &file, &slot), -EIO);
	KUNIT_EXPECT_EQ(test, firmware->answered, 2);
}

static void update_families_have_errors(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sidra_update_error_of(SIDRA_IMAGE_FAMILY_NONE), 0);
	KUNIT_EXPECT_EQ(test, sidra_update_error_of(SIDRA_IMAGE_FAMILY_ROLLBACK), -EKEYREVOKED);
	KUNIT_EXPECT_EQ(test, sidra_update_error_of(SIDRA_IMAGE_FAMILY_UNKNOWN), -EREMOTEIO);
}

static struct kunit_case update_cases[] = {
	KUNIT_CASE(update_that_is_not_stored_is_an_error),
	KUNIT_CASE(update_ends_with_the_first_piece_that_is_refused),
	KUNIT_CASE(update_families_have_errors),
	{}
};

static struct kunit_suite update_suite = {
	.name = "sidra_update",
	.test_cases = update_cases,
};

kunit_test_suite(update_suite);
