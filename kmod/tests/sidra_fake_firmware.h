/* SPDX-License-Identifier: GPL-2.0-only */
/* Firmware without a processor, for KUnit tests: a thread that answers requests of the mailbox. */
#ifndef __SIDRA_FAKE_FIRMWARE_H__
#define __SIDRA_FAKE_FIRMWARE_H__

#include <linux/delay.h>
#include <linux/kthread.h>

#include "sidra_fake.h"

/**
 * struct fake_firmware - the firmware of a fake device
 * @sdev: the device
 * @reply: status, length and data of all its replies
 * @refused_opcode: a request that it says BUSY to instead
 * @answered: number of its replies
 * @thread: the thread, after fake_firmware_start()
 */
struct fake_firmware {
	struct sidra_device *sdev;
	struct sidra_mailbox_msg reply;
	u16 refused_opcode;
	unsigned int answered;
	struct task_struct *thread;
};

/* A device whose mailbox is connected, but without anybody who answers. */
static struct sidra_device *fake_mailbox(struct kunit *test)
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

static int fake_firmware_thread(void *data)
{
	struct fake_firmware *firmware = data;
	struct sidra_device *sdev = firmware->sdev;
	struct sidra_ring_memory *rings = &sdev->mailbox.memory->rings;

	while (!kthread_should_stop()) {
		u32 at = firmware->answered;

		if (readl(sdev->chip.regs + SIDRA_REG_MAILBOX_DOORBELL) != at) {
			const struct sidra_mailbox_msg *request =
				&rings->requests[at % SIDRA_RING_ENTRIES];
			struct sidra_mailbox_msg reply = firmware->reply;

			reply.opcode = request->opcode | cpu_to_le16(SIDRA_MAILBOX_REPLY);
			reply.sequence = request->sequence;
			reply.cookie = request->cookie;
			if (le16_to_cpu(request->opcode) == firmware->refused_opcode)
				reply.status = cpu_to_le32(SIDRA_MAILBOX_BUSY);
			rings->replies[at % SIDRA_RING_ENTRIES] = reply;
			firmware->answered++;
			/* After the reply is in memory */
			writel(firmware->answered,
			       sdev->chip.regs + SIDRA_REG_MAILBOX_REPLY_INDEX);
			complete(&sdev->mailbox.answered);
		}
		usleep_range(20, 50);
	}
	return 0;
}

static void fake_firmware_end(void *data)
{
	struct fake_firmware *firmware = data;

	kthread_stop(firmware->thread);
}

/* Starts it; it answers each request with @reply until the end of the test. */
static noinline __maybe_unused struct fake_firmware *
fake_firmware_start(struct kunit *test)
{
	struct fake_firmware *firmware = kunit_kzalloc(test, sizeof(*firmware), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, firmware);
	firmware->sdev = fake_mailbox(test);
	firmware->thread = kthread_run(fake_firmware_thread, firmware, "sidra-test-firmware");
	KUNIT_ASSERT_FALSE(test, IS_ERR(firmware->thread));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_firmware_end, firmware), 0);
	return firmware;
}

#endif
