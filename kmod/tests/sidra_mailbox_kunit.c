// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit test of the mailbox, on registers in plain memory; included by sidra_mailbox.c. Its rings
 * are tested in user space.
 */
#include "sidra_fake_firmware.h"

/* Writes events into the reply ring, as the firmware does while there is room. */
static void mailbox_give_events(struct sidra_device *sdev, u32 count)
{
	void __iomem *index = sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_INDEX;

	while (count--) {
		u32 at = readl(index);

		sdev->mailbox.memory->rings.replies[at % SIDRA_RING_ENTRIES] =
			(struct sidra_mailbox_msg){ .opcode = cpu_to_le16(SIDRA_MAILBOX_EVENT),
						    .sequence = cpu_to_le32(at) };
		writel(at + 1, index);
	}
}

/*
 * The firmware does not process a request while the ring has no room for the reply, so pending
 * events must be taken first.
 */
static void mailbox_makes_room_for_a_reply(struct kunit *test)
{
	struct sidra_device *sdev = fake_mailbox(test);
	unsigned int round;

	for (round = 1; round <= 3; round++) {
		mailbox_give_events(sdev, SIDRA_RING_ENTRIES);
		scoped_guard(mutex, &sdev->mailbox.lock)
			KUNIT_EXPECT_EQ(test, sidra_mailbox_settle(sdev), 0);
		KUNIT_EXPECT_EQ(test, readl(sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_READ),
				round * SIDRA_RING_ENTRIES);
	}
	/*
	 * A reply without a request makes the mailbox unusable, also if it arrives before the next
	 * request is sent.
	 */
	sdev->mailbox.memory->rings.replies[0] = (struct sidra_mailbox_msg){
		.opcode = cpu_to_le16(SIDRA_MAILBOX_STATUS | SIDRA_MAILBOX_REPLY),
		.sequence = cpu_to_le32(3 * SIDRA_RING_ENTRIES),
	};
	writel(3 * SIDRA_RING_ENTRIES + 1, sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_INDEX);
	scoped_guard(mutex, &sdev->mailbox.lock) {
		KUNIT_EXPECT_EQ(test, sidra_mailbox_settle(sdev), -EPROTO);
		KUNIT_EXPECT_EQ(test, sidra_mailbox_settle(sdev), -EPROTO);
	}
}

static void mailbox_without_firmware_is_an_error(struct kunit *test)
{
	struct sidra_device *sdev = fake_mailbox(test);
	struct sidra_mailbox_memory *memory = sdev->mailbox.memory;
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_STATUS) };
	struct sidra_mailbox_health health;
	u64 data;

	/* A reset has forgotten the rings. */
	writel(0, sdev->chip.regs + SIDRA_REG_MAILBOX_ENTRIES);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_call(sdev, &msg), -ECONNRESET);
	sdev->mailbox.memory = NULL;
	KUNIT_EXPECT_EQ(test, sidra_mailbox_fetch(sdev, &msg, &data, sizeof(data)), -ENODEV);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_send(sdev, &msg, &data, sizeof(data)), -ENODEV);
	sdev->mailbox.memory = memory;
	sdev->mailbox.broken = true;
	KUNIT_EXPECT_EQ(test, sidra_mailbox_fetch(sdev, &msg, &data, sizeof(data)), -EPROTO);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_send(sdev, &msg, &data, sizeof(data)), -EPROTO);
	sdev->mailbox.broken = false;
	writel(~0u, sdev->chip.regs + SIDRA_REG_STATUS);
	KUNIT_EXPECT_EQ_MSG(test, sidra_mailbox_connect(sdev), -ENODEV, "the link is lost");
	scoped_guard(mutex, &sdev->mailbox.lock) {
		/* Between the driver's check and its request, the firmware restarted */
		KUNIT_EXPECT_EQ(test, sidra_mailbox_send_locked(sdev, &msg), -ECONNRESET);
		sdev->mailbox.open = false;
		KUNIT_EXPECT_EQ(test, sidra_mailbox_send_locked(sdev, &msg), -ENODEV);
	}
	KUNIT_EXPECT_EQ(test, sidra_mailbox_connect(sdev), -ENODEV);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_call(sdev, &msg), -ENODEV);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_read_health(sdev, &health), -ENODEV);
}

/* Nothing of what the firmware says about the size of a payload is believed. */
static void mailbox_payload_is_bounded(struct kunit *test)
{
	struct fake_firmware *firmware = fake_firmware_start(test);
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_STATUS) };
	u64 data[2] = { 1, 2 };

	memset(firmware->sdev->mailbox.memory->payload, 0xff, sizeof(data));
	firmware->reply.inline_data[0] = cpu_to_le64(sizeof(data) - 1);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_fetch(firmware->sdev, &msg, data, sizeof(data)), 0);
	KUNIT_EXPECT_EQ_MSG(test, data[0], 0, "not what was there before the request");
	msg.opcode = cpu_to_le16(SIDRA_MAILBOX_STATUS);
	firmware->reply.inline_data[0] = cpu_to_le64(sizeof(data) + 1);
	KUNIT_EXPECT_EQ(test, sidra_mailbox_fetch(firmware->sdev, &msg, data, sizeof(data)),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, firmware->answered, 2);
}

static void mailbox_statuses_are_errors(struct kunit *test)
{
	static const struct {
		u32 status;
		int error;
	} all[] = {
		{ SIDRA_MAILBOX_OK, 0 },
		{ SIDRA_MAILBOX_ACCEPTED, 0 },
		{ SIDRA_MAILBOX_UNSUPPORTED, -EOPNOTSUPP },
		{ SIDRA_MAILBOX_BAD_LENGTH, -EINVAL },
		{ SIDRA_MAILBOX_BAD_ARGUMENT, -EINVAL },
		{ SIDRA_MAILBOX_BUSY, -EBUSY },
		{ SIDRA_MAILBOX_DEADLINE, -ETIMEDOUT },
		{ SIDRA_MAILBOX_ABORTED, -ECANCELED },
		{ 0x7fff, -EIO },	/* of a later firmware */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct sidra_mailbox_msg reply = { .status = cpu_to_le32(all[i].status) };

		KUNIT_EXPECT_EQ(test, sidra_mailbox_error(&reply), all[i].error);
	}
}

static struct kunit_case mailbox_cases[] = {
	KUNIT_CASE(mailbox_makes_room_for_a_reply),
	KUNIT_CASE(mailbox_without_firmware_is_an_error),
	KUNIT_CASE(mailbox_payload_is_bounded),
	KUNIT_CASE(mailbox_statuses_are_errors),
	{}
};

static struct kunit_suite mailbox_suite = {
	.name = "sidra_mailbox",
	.test_cases = mailbox_cases,
};

kunit_test_suite(mailbox_suite);
