// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit test of the mailbox, on registers in plain memory; included by sidra_mailbox.c. tests/kmod
 * tests its rings.
 */
#include "sidra_fake.h"

static struct sidra_device *connected(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_mailbox *box = &sdev->mailbox;

	box->memory = kunit_kzalloc(test, sizeof(*box->memory), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, box->memory);
	box->ring.memory = &box->memory->rings;
	box->on = true;
	sidra_mailbox_open(sdev);
	writel(SIDRA_STATUS_READY | SIDRA_STATUS_FIRMWARE_ALIVE,
	       sdev->chip.regs + SIDRA_REG_STATUS);
	KUNIT_ASSERT_EQ(test, sidra_mailbox_connect(sdev), 1);
	return sdev;
}

/* Writes events into the reply ring, as the firmware does while there is room. */
static void give_events(struct sidra_device *sdev, u32 count)
{
	void __iomem *index = sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_INDEX;

	while (count--) {
		u32 at = readl(index);

		sdev->mailbox.memory->rings.replies[at % SIDRA_RING_ENTRIES] =
			(struct sidra_mailbox_msg){ .opcode = SIDRA_MAILBOX_EVENT, .sequence = at };
		writel(at + 1, index);
	}
}

/*
 * The firmware does not process a request while the ring has no room for the reply, so pending
 * events must be taken first.
 */
static void mailbox_makes_room_for_a_reply(struct kunit *test)
{
	struct sidra_device *sdev = connected(test);
	unsigned int round;

	for (round = 1; round <= 3; round++) {
		give_events(sdev, SIDRA_RING_ENTRIES);
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
		.opcode = SIDRA_MAILBOX_STATUS | SIDRA_MAILBOX_REPLY,
		.sequence = 3 * SIDRA_RING_ENTRIES,
	};
	writel(3 * SIDRA_RING_ENTRIES + 1, sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_INDEX);
	scoped_guard(mutex, &sdev->mailbox.lock) {
		KUNIT_EXPECT_EQ(test, sidra_mailbox_settle(sdev), -EPROTO);
		KUNIT_EXPECT_EQ(test, sidra_mailbox_settle(sdev), -EPROTO);
	}
}

static struct kunit_case mailbox_cases[] = {
	KUNIT_CASE(mailbox_makes_room_for_a_reply),
	{}
};

static struct kunit_suite mailbox_suite = {
	.name = "sidra_mailbox",
	.test_cases = mailbox_cases,
};

kunit_test_suite(mailbox_suite);
