/* SPDX-License-Identifier: MIT */
/* The mailbox (uapi/sidra_hw.h): serves the host's requests in order, each with a reply. */
#ifndef SIDRA_FIRMWARE_MAILBOX_H
#define SIDRA_FIRMWARE_MAILBOX_H

#include <stdint.h>

#define MAILBOX_VERSION (1u << 16 | 0u) /* SIDRA_FW_API_MAILBOX: major << 16 | minor */

/* Kind of an event: its first word. */
enum mailbox_event {
	MAILBOX_EVENT_THERMAL = 1
};

#ifdef __cplusplus
extern "C" {
#endif

/* Serves the requests that were pending at the call: an endless stream of requests must not stop the heartbeat. */
void mailbox_serve(void);
/* Sends an event in the reply ring. Does nothing if the ring is full or there is no mailbox. */
void mailbox_event(enum mailbox_event what, uint32_t detail, uint64_t second, uint64_t third);

#ifdef __cplusplus
}
#endif

#endif
