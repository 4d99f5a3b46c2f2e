/* SPDX-License-Identifier: GPL-2.0-only */
/* The mailbox's two rings in memory: a request and its reply at a time. The firmware is not trusted. */
#ifndef __SIDRA_RING_H__
#define __SIDRA_RING_H__

#include "sidra_pure.h"

#define SIDRA_RING_ENTRIES	64u

struct sidra_ring_memory {
	struct sidra_mailbox_msg requests[SIDRA_RING_ENTRIES];
	struct sidra_mailbox_msg replies[SIDRA_RING_ENTRIES];
};

/**
 * struct sidra_ring - what was asked and answered since the firmware started
 * @memory: shared with it
 * @sent: requests; @taken: replies and events
 * @cookie, @opcode: of the latest request. A cookie is used once in a lifetime
 * @owed: the latest request has no reply yet
 */
struct sidra_ring {
	struct sidra_ring_memory *memory;
	u32 sent, taken;
	u64 cookie;
	u16 opcode;
	bool owed;
};

/* The firmware has started, and counts from 0. */
void sidra_ring_begin(struct sidra_ring *ring);

/* Stores a request, which gets sequence and cookie, for DOORBELL = @sent. Not while a reply is owed. */
void sidra_ring_put(struct sidra_ring *ring, struct sidra_mailbox_msg *request);

/*
 * Takes what is there, by REPLY_INDEX; @taken moves. 1: the reply that is owed, a copy; 0: not there yet; -EPROTO:
 * something else, after which nothing in the ring means anything. An index that cannot be says nothing: it may be
 * that of a firmware that starts.
 */
int sidra_ring_take(struct sidra_ring *ring, u32 index, struct sidra_mailbox_msg *reply);

#endif
