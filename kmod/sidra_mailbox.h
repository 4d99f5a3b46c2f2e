/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the chip's firmware, which may still boot, hang, lie or be dead. Only the caller of a
 * request loses time then.
 */
#ifndef __SIDRA_MAILBOX_H__
#define __SIDRA_MAILBOX_H__

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wordpart.h>
#include <asm/byteorder.h>

#include "sidra_ring.h"

struct sidra_device;

/* Of the messages, which the firmware must have, too: major << 16 | minor */
#define SIDRA_MAILBOX_VERSION	0x10000u
#define SIDRA_MAILBOX_PAYLOAD	4096u

/**
 * struct sidra_mailbox_memory - the memory that the firmware accesses
 * @rings: requests and replies
 * @payload: data of the request, or of its reply
 */
struct sidra_mailbox_memory {
	struct sidra_ring_memory rings;
	u8 payload[SIDRA_MAILBOX_PAYLOAD];
};

/**
 * struct sidra_mailbox_health - the firmware's state, from registers that work even if it is dead
 * @stage: enum sidra_boot_stage
 * @reason: enum sidra_boot_reason, of the latest start
 * @panic: code of its panic; 0: none
 */
struct sidra_mailbox_health {
	u32 stage, reason, panic;
};

/**
 * struct sidra_mailbox - the driver's side of the mailbox
 * @lock: serialises requests; sidra_device.reset_lock is not taken under it
 * @memory: what the firmware accesses; NULL if the chip has no firmware
 * @bus: its bus address
 * @ring: in @memory
 * @broken: the firmware sent a reply that nobody asked for; the mailbox stays closed until the
 *          firmware restarts
 * @late: a missing reply has been logged
 * @status: last value of register STATUS
 * @gate: protects the fields below and the registers: nobody touches them after
 *        sidra_mailbox_close()
 * @on: between sidra_firmware_begin() and _end()
 * @open: requests may be sent
 * @answered: an interrupt announced a reply
 */
struct sidra_mailbox {
	struct mutex lock;	/* one request at a time */
	struct sidra_mailbox_memory *memory;
	dma_addr_t bus;
	struct sidra_ring ring;
	bool broken;
	bool late;
	u32 status;
	spinlock_t gate;	/* of what follows, and the registers */
	bool on;
	bool open;
	struct completion answered;
};

void sidra_mailbox_init(struct sidra_device *sdev);
/* Allocates the memory, if the chip has firmware: 0 or -ENOMEM. */
int sidra_mailbox_alloc(struct sidra_device *sdev);

/*
 * Called around resets, in any context; open() does nothing before sidra_firmware_begin(). After
 * close() the mailbox touches no register and nobody waits for a reply.
 */
void sidra_mailbox_open(struct sidra_device *sdev);
void sidra_mailbox_close(struct sidra_device *sdev);

/*
 * Gives the firmware the addresses of the rings. Returns 1, or 0 if it already has them; -EAGAIN if
 * it does not run (yet), -ENODEV if the mailbox is closed or there is no firmware, -EPROTO if it is
 * broken.
 */
int sidra_mailbox_connect(struct sidra_device *sdev);

/*
 * Sends a request and waits for the reply, which overwrites @msg. Returns 0, whatever the status of
 * the reply. -ETIMEDOUT: there was no reply, and no other request is sent before it arrives;
 * -ECONNRESET: the firmware has restarted and has no rings; -EPROTO, -ENODEV as above.
 */
int sidra_mailbox_call(struct sidra_device *sdev, struct sidra_mailbox_msg *msg);
/* The same for a reply with a payload, of at most @size bytes: its first word says how many. */
int sidra_mailbox_fetch(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, void *to,
			u32 size);

/* The same for a request with a payload, of at most SIDRA_MAILBOX_PAYLOAD bytes. */
int sidra_mailbox_send(struct sidra_device *sdev, struct sidra_mailbox_msg *msg, const void *from,
		       u32 size);

/* A word of the payload in a message, and its halves. */
static inline u64 sidra_mailbox_word(const struct sidra_mailbox_msg *msg, unsigned int number)
{
	return le64_to_cpu(msg->inline_data[number]);
}

static inline u32 sidra_mailbox_low(const struct sidra_mailbox_msg *msg, unsigned int number)
{
	return lower_32_bits(sidra_mailbox_word(msg, number));
}

static inline u32 sidra_mailbox_high(const struct sidra_mailbox_msg *msg, unsigned int number)
{
	return upper_32_bits(sidra_mailbox_word(msg, number));
}

/* Translates the status of a reply: 0 (also for ACCEPTED) or -errno. */
int sidra_mailbox_error(const struct sidra_mailbox_msg *reply);

/* 0 or -ENODEV. */
int sidra_mailbox_read_health(struct sidra_device *sdev, struct sidra_mailbox_health *health);

#endif
