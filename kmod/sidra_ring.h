/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mailbox's two rings in memory, with one request and its reply at a time. The firmware is not
 * trusted.
 */
#ifndef __SIDRA_RING_H__
#define __SIDRA_RING_H__

#include "sidra_pure.h"

#define SIDRA_RING_ENTRIES	64u

/**
 * struct sidra_ring_memory - the two rings
 * @requests: written by the driver
 * @replies: written by the firmware
 */
struct sidra_ring_memory {
	struct sidra_mailbox_msg requests[SIDRA_RING_ENTRIES];
	struct sidra_mailbox_msg replies[SIDRA_RING_ENTRIES];
};

/**
 * struct sidra_ring - requests and replies since the firmware started
 * @memory: shared with the firmware
 * @sent: number of requests
 * @taken: number of replies and events
 * @cookie: of the latest request; a cookie is used only once
 * @opcode: of the latest request
 * @owed: the latest request has no reply yet
 */
struct sidra_ring {
	struct sidra_ring_memory *memory;
	u32 sent, taken;
	u64 cookie;
	u16 opcode;
	bool owed;
};

/* Called when the firmware has started, and counts from 0. */
void sidra_ring_begin(struct sidra_ring *ring);

/*
 * Stores a request with a new sequence and cookie; DOORBELL is then @sent. Not allowed while a
 * reply is outstanding.
 */
void sidra_ring_put(struct sidra_ring *ring, struct sidra_mailbox_msg *request);

/*
 * Takes messages up to @index (REPLY_INDEX) and advances @taken. Returns 1 with a copy of the
 * outstanding reply, 0 if it has not arrived, and -EPROTO after any other message, which makes the
 * ring unusable. An impossible index is ignored: it may come from firmware that is just starting.
 */
int sidra_ring_take(struct sidra_ring *ring, u32 index, struct sidra_mailbox_msg *reply);

#endif
