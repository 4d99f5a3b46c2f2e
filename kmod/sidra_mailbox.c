// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/moduleparam.h>

#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_mailbox.h"
#include "sidra_mutex.h"
#include "sidra_trace.h"

static unsigned int mailbox_timeout_ms = 5000;
module_param(mailbox_timeout_ms, uint, 0644);
MODULE_PARM_DESC(mailbox_timeout_ms, "timeout of a request to the firmware (ms)");

#define RECHECK_MS	10	/* the delay that a lost interrupt causes */

void sidra_mailbox_init(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	mutex_init(&box->lock);
	spin_lock_init(&box->gate);
	init_completion(&box->answered);
}

/* The memory is freed when the device is unbound; the chip has been stopped by then. */
int sidra_mailbox_alloc(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	if (!(sdev->chip.info.features & SIDRA_FEATURE_FIRMWARE))
		return 0;
	box->memory = dmam_alloc_coherent(&sdev->pdev->dev, sizeof(*box->memory), &box->bus,
					  GFP_KERNEL);
	if (!box->memory)
		return -ENOMEM;
	box->ring.memory = &box->memory->rings;
	return 0;
}

void sidra_mailbox_open(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	guard(spinlock_irqsave)(&box->gate);
	box->open = box->on && box->memory;
}

void sidra_mailbox_close(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	guard(spinlock_irqsave)(&box->gate);
	box->open = false;
	complete(&box->answered);
}

static u64 sidra_mailbox_request_bus(const struct sidra_mailbox *box)
{
	return box->bus + offsetof(struct sidra_mailbox_memory, rings.requests);
}

static u64 sidra_mailbox_reply_bus(const struct sidra_mailbox *box)
{
	return box->bus + offsetof(struct sidra_mailbox_memory, rings.replies);
}

/*
 * Firmware clears these registers when it starts. If it starts between two of our writes, some of
 * them are missing.
 */
static bool sidra_mailbox_has_rings(struct sidra_device *sdev)
{
	return sidra_read32(sdev, SIDRA_REG_MAILBOX_ENTRIES) == SIDRA_RING_ENTRIES &&
		sidra_read64(sdev, SIDRA_REG_MAILBOX_REQUEST) ==
		sidra_mailbox_request_bus(&sdev->mailbox) &&
		sidra_read64(sdev, SIDRA_REG_MAILBOX_REPLY) ==
		sidra_mailbox_reply_bus(&sdev->mailbox);
}

int sidra_mailbox_connect(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	guard(mutex)(&box->lock);
	guard(spinlock_irqsave)(&box->gate);
	if (!box->open)
		return -ENODEV;
	box->status = sidra_read32(sdev, SIDRA_REG_STATUS);
	if (box->status == ~0u)
		return -ENODEV;
	if (!(box->status & SIDRA_STATUS_FIRMWARE_ALIVE))
		return -EAGAIN;
	if (sidra_mailbox_has_rings(sdev))
		return box->broken ? -EPROTO : 0;
	sidra_ring_begin(&box->ring);
	box->broken = false;
	box->late = false;
	sidra_write32(sdev, SIDRA_REG_MAILBOX_ENTRIES, 0);
	sidra_write32(sdev, SIDRA_REG_MAILBOX_DOORBELL, 0);
	sidra_write32(sdev, SIDRA_REG_MAILBOX_REPLY_READ, 0);
	sidra_write64(sdev, SIDRA_REG_MAILBOX_REQUEST, sidra_mailbox_request_bus(box));
	sidra_write64(sdev, SIDRA_REG_MAILBOX_REPLY, sidra_mailbox_reply_bus(box));
	sidra_write32(sdev, SIDRA_REG_MAILBOX_ENTRIES, SIDRA_RING_ENTRIES);
	return sidra_mailbox_has_rings(sdev) ? 1 : -EAGAIN;
}

/* Sends a request; an error says why no firmware can receive it. */
static int sidra_mailbox_send_locked(struct sidra_device *sdev, struct sidra_mailbox_msg *msg)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	guard(spinlock_irqsave)(&box->gate);
	if (!box->open)
		return -ENODEV;
	if (!sidra_mailbox_has_rings(sdev))
		return -ECONNRESET;
	/*
	 * The firmware ignores the request after this time, because nobody waits for the reply any
	 * more.
	 */
	msg->deadline = cpu_to_le64(sidra_read64(sdev, SIDRA_REG_CLOCK) +
				    (u64)mailbox_timeout_ms * NSEC_PER_MSEC);
	reinit_completion(&box->answered);
	sidra_ring_put(&box->ring, msg);
	/* After the request is in memory */
	sidra_write32(sdev, SIDRA_REG_MAILBOX_DOORBELL, box->ring.sent);
	return 0;
}

/* Returns 1 with the outstanding reply, or 0 if it has not arrived yet. */
static int sidra_mailbox_take(struct sidra_device *sdev, struct sidra_mailbox_msg *reply)
{
	struct sidra_mailbox *box = &sdev->mailbox;
	u32 index;
	int ret;

	guard(spinlock_irqsave)(&box->gate);
	if (!box->open)
		return -ENODEV;
	index = sidra_read32(sdev, SIDRA_REG_MAILBOX_REPLY_INDEX);
	if (sidra_read32(sdev, SIDRA_REG_MAILBOX_ENTRIES) != SIDRA_RING_ENTRIES)
		return -ECONNRESET;	/* the index has no meaning then */
	ret = sidra_ring_take(&box->ring, index, reply);
	sidra_write32(sdev, SIDRA_REG_MAILBOX_REPLY_READ, box->ring.taken);
	return ret;
}

/* sidra_mailbox_take(), which also records errors for later requests. */
static int sidra_mailbox_take_and_record(struct sidra_device *sdev, struct sidra_mailbox_msg *reply)
{
	struct sidra_mailbox *box = &sdev->mailbox;
	int ret = sidra_mailbox_take(sdev, reply);

	if (ret == 1)
		box->late = false;
	if (ret == -EPROTO) {
		box->broken = true;
		drm_warn(&sdev->drm,
			 "the firmware sent a reply without a request: it is not used until it restarts\n");
	}
	return ret;
}

static int sidra_mailbox_wait_for_reply(struct sidra_device *sdev, struct sidra_mailbox_msg *reply,
					unsigned long end)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	for (;;) {
		bool late = time_after(jiffies, end);
		int ret = sidra_mailbox_take_and_record(sdev, reply);

		if (ret)
			return ret == 1 ? 0 : ret;
		if (late && !box->late) {
			box->late = true;
			drm_warn(&sdev->drm, "the firmware does not answer request %#x\n",
				 box->ring.opcode);
		}
		if (late)
			return -ETIMEDOUT;
		/* The next request waits for the reply that this one no longer wants */
		if (wait_for_completion_killable_timeout(&box->answered,
							 msecs_to_jiffies(RECHECK_MS)) < 0)
			return -EINTR;
	}
}

static unsigned long sidra_mailbox_deadline(void)
{
	return jiffies + msecs_to_jiffies(mailbox_timeout_ms) + 1;
}

/*
 * Takes a late reply and pending events before the next request is sent. A late reply, and its
 * payload, would be taken for the next one. Events fill the ring, and firmware without room for a
 * reply does not process a request until the next doorbell.
 */
static int sidra_mailbox_settle(struct sidra_device *sdev)
{
	struct sidra_mailbox *box = &sdev->mailbox;
	struct sidra_mailbox_msg owed;

	lockdep_assert_held(&box->lock);
	if (box->broken)
		return -EPROTO;
	/*
	 * If the reply is known to be late, do not wait again: a series of requests would delay the
	 * freezing of tasks for a suspend.
	 */
	return box->ring.owed ?
		sidra_mailbox_wait_for_reply(sdev, &owed,
					     box->late ? jiffies : sidra_mailbox_deadline()) :
		sidra_mailbox_take_and_record(sdev, &owed);
}

static int sidra_mailbox_call_locked(struct sidra_device *sdev, struct sidra_mailbox_msg *msg)
{
	u16 op = le16_to_cpu(msg->opcode);
	int ret = sidra_mailbox_settle(sdev) ?:
		sidra_mailbox_send_locked(sdev, msg) ?:
		sidra_mailbox_wait_for_reply(sdev, msg, sidra_mailbox_deadline());

	trace_sidra_mailbox(sdev->ordinal, op, ret, ret ? 0 : le32_to_cpu(msg->status));
	return ret;
}

int sidra_mailbox_call(struct sidra_device *sdev, struct sidra_mailbox_msg *msg)
{
	CLASS(sidra_mutex, held)(&sdev->mailbox.lock);
	return held.error ?: sidra_mailbox_call_locked(sdev, msg);
}

/* Takes the lock and the payload buffer, once no earlier request uses it any more. */
static int sidra_mailbox_take_payload(struct sidra_device *sdev, struct sidra_mailbox_msg *msg,
				      u32 size)
{
	struct sidra_mailbox *box = &sdev->mailbox;

	if (!box->memory)
		return -ENODEV;
	if (WARN_ON_ONCE(size > sizeof(box->memory->payload)))
		return -EINVAL;
	msg->length = cpu_to_le32(size);
	msg->payload = cpu_to_le64(box->bus + offsetof(struct sidra_mailbox_memory, payload));
	return sidra_mailbox_settle(sdev);
}

int sidra_mailbox_send(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, const void *from,
		       u32 size)
{
	int ret;

	CLASS(sidra_mutex, held)(&sdev->mailbox.lock);
	ret = held.error ?: sidra_mailbox_take_payload(sdev, msg, size);
	if (ret)
		return ret;
	memcpy(sdev->mailbox.memory->payload, from, size);
	return sidra_mailbox_call_locked(sdev, msg);
}

int sidra_mailbox_fetch(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, void *to,
			u32 size)
{
	struct sidra_mailbox *box = &sdev->mailbox;
	int ret;

	CLASS(sidra_mutex, held)(&box->lock);
	ret = held.error ?: sidra_mailbox_take_payload(sdev, msg, size);
	if (ret)
		return ret;
	memset(box->memory->payload, 0, size);	/* no data of an earlier request */
	ret = sidra_mailbox_call_locked(sdev, msg);
	if (ret || msg->status != cpu_to_le32(SIDRA_MAILBOX_OK))
		return ret;
	if (sidra_mailbox_word(msg, 0) > size)
		return -EPROTO;
	memcpy(to, box->memory->payload, sidra_mailbox_word(msg, 0));
	return 0;
}

int sidra_mailbox_error(const struct sidra_mailbox_msg *reply)
{
	switch (le32_to_cpu(reply->status)) {
	case SIDRA_MAILBOX_OK:
	case SIDRA_MAILBOX_ACCEPTED:
		return 0;
	case SIDRA_MAILBOX_UNSUPPORTED:
		return -EOPNOTSUPP;
	case SIDRA_MAILBOX_BAD_LENGTH:
	case SIDRA_MAILBOX_BAD_ARGUMENT:
		return -EINVAL;
	case SIDRA_MAILBOX_BUSY:
		return -EBUSY;
	case SIDRA_MAILBOX_DEADLINE:
		return -ETIMEDOUT;
	case SIDRA_MAILBOX_ABORTED:
		return -ECANCELED;
	}
	return -EIO;
}

int sidra_mailbox_read_health(struct sidra_device *sdev, struct sidra_mailbox_health *health)
{
	guard(spinlock_irqsave)(&sdev->mailbox.gate);
	if (!sdev->mailbox.open)
		return -ENODEV;
	health->stage = sidra_read32(sdev, SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK;
	health->reason = sidra_read32(sdev, SIDRA_REG_BOOT_REASON);
	health->panic = sidra_read32(sdev, SIDRA_REG_PANIC);
	return health->reason == ~0u ? -ENODEV : 0;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_mailbox_kunit.c"
#endif
