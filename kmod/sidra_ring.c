// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_ring.h"

void sidra_ring_begin(struct sidra_ring *ring)
{
	ring->sent = 0;
	ring->taken = 0;
	ring->owed = false;
}

void sidra_ring_put(struct sidra_ring *ring, struct sidra_mailbox_msg *request)
{
	request->sequence = cpu_to_le32(ring->sent);
	request->cookie = cpu_to_le64(++ring->cookie);
	ring->opcode = le16_to_cpu(request->opcode);
	ring->owed = true;
	ring->memory->requests[ring->sent++ % SIDRA_RING_ENTRIES] = *request;
}

/*
 * Reads each field once, so that the checked value is the value used, even if the firmware changes
 * the memory meanwhile.
 */
static void sidra_ring_copy_once(struct sidra_mailbox_msg *to, const struct sidra_mailbox_msg *from)
{
	const u64 *words = (const u64 *)from;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*words); i++) {
		const u64 word = READ_ONCE(words[i]);

		memcpy((u8 *)to + i * sizeof(word), &word, sizeof(word));
	}
}

static bool sidra_ring_is_event(const struct sidra_mailbox_msg *msg)
{
	return (le16_to_cpu(msg->opcode) & (SIDRA_MAILBOX_EVENT | SIDRA_MAILBOX_REPLY)) ==
		SIDRA_MAILBOX_EVENT;
}

static bool sidra_ring_is_owed(const struct sidra_ring *ring, const struct sidra_mailbox_msg *reply)
{
	return ring->owed && le16_to_cpu(reply->opcode) == (ring->opcode | SIDRA_MAILBOX_REPLY) &&
		le64_to_cpu(reply->cookie) == ring->cookie && !reply->flags &&
		le32_to_cpu(reply->length) <= sizeof(reply->inline_data) &&
		le32_to_cpu(reply->status) <= SIDRA_MAILBOX_INTERNAL;
}

int sidra_ring_take(struct sidra_ring *ring, u32 index, struct sidra_mailbox_msg *reply)
{
	struct sidra_mailbox_msg msg;

	if (index - ring->taken > SIDRA_RING_ENTRIES)
		return 0;
	dma_rmb();	/* read messages after the index */
	while (ring->taken != index) {
		sidra_ring_copy_once(&msg,
				     &ring->memory->replies[ring->taken % SIDRA_RING_ENTRIES]);
		if (le32_to_cpu(msg.sequence) != ring->taken++)
			return -EPROTO;
		if (sidra_ring_is_event(&msg))	/* this driver handles no events */
			continue;
		if (!sidra_ring_is_owed(ring, &msg))
			return -EPROTO;
		ring->owed = false;
		*reply = msg;
		return 1;
	}
	return 0;
}
