/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests to the chip's firmware. It may still boot, hang, lie or be dead: all that costs is time, of who asks. */
#ifndef __SIDRA_MAILBOX_H__
#define __SIDRA_MAILBOX_H__

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "sidra_ring.h"

struct sidra_device;

#define SIDRA_MAILBOX_VERSION	(1u << 16)	/* that docs/firmware.md describes: major << 16 | minor */
#define SIDRA_MAILBOX_PAYLOAD	4096u

/* What the firmware can reach. */
struct sidra_mailbox_memory {
	struct sidra_ring_memory rings;
	u8 payload[SIDRA_MAILBOX_PAYLOAD];
};

/* How it is, by registers that tell it whatever becomes of it. */
struct sidra_mailbox_health {
	u32 stage, reason, panic;
};

/**
 * struct sidra_mailbox - the driver's end
 * @lock: one request at a time; sidra_device.lock is not taken under it
 * @ring: in @memory, which is at @bus; none: the chip has no firmware
 * @broken: the firmware has answered what nobody has asked: nothing more, until it starts anew
 * @late: the log has it that a reply does not come
 * @status: what STATUS said last
 * @gate: protects what follows and the registers, so that nobody touches them behind sidra_mailbox_close()
 * @on: between sidra_firmware_begin() and _end()
 * @open: the chip may be asked
 * @answered: an interrupt said that a reply may be there
 */
struct sidra_mailbox {
	struct mutex lock;
	struct sidra_mailbox_memory *memory;
	dma_addr_t bus;
	struct sidra_ring ring;
	bool broken;
	bool late;
	u32 status;
	spinlock_t gate;
	bool on;
	bool open;
	struct completion answered;
};

void sidra_mailbox_init(struct sidra_device *sdev);
/* Memory, if the chip has firmware: 0 or -ENOMEM. */
int sidra_mailbox_alloc(struct sidra_device *sdev);

/* Around resets, from anywhere; what is not on does not open. Behind close() no register is touched, and nobody waits. */
void sidra_mailbox_open(struct sidra_device *sdev);
void sidra_mailbox_close(struct sidra_device *sdev);

/*
 * Gives the firmware its rings, unless it has them. 1: now; 0: it had them before; -EAGAIN: it does not run (yet);
 * -ENODEV: closed, or nobody there; -EPROTO: broken.
 */
int sidra_mailbox_connect(struct sidra_device *sdev);

/*
 * Sends a request and waits for its reply, which takes its place: 0, whatever its status. -ETIMEDOUT: no reply, nor may
 * another request be sent before it comes; -ECONNRESET: the firmware has started anew meanwhile, and has no rings;
 * -EPROTO, -ENODEV as above.
 */
int sidra_mailbox_call(struct sidra_device *sdev, struct sidra_mailbox_msg *msg);
/* The same, for one whose reply has bytes in memory: as many as its first word says, which are at most @size. */
int sidra_mailbox_fetch(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, void *to, u32 size);

/* And for one that takes bytes, at most SIDRA_MAILBOX_PAYLOAD. */
int sidra_mailbox_send(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, const void *from, u32 size);

/* What the status of a reply means: 0 (also ACCEPTED) or -errno. */
int sidra_mailbox_error(const struct sidra_mailbox_msg *reply);

/* 0 or -ENODEV. */
int sidra_mailbox_look(struct sidra_device *sdev, struct sidra_mailbox_health *health);

#endif
