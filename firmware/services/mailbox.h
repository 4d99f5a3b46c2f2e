/* SPDX-License-Identifier: MIT */
/* The mailbox (uapi/sidra_hw.h): requests that the host has announced, one after another, each with its reply. */
#ifndef SIDRA_FIRMWARE_MAILBOX_H
#define SIDRA_FIRMWARE_MAILBOX_H

#include <stdint.h>

#define MAILBOX_VERSION (1u << 16 | 0u) /* SIDRA_FW_API_MAILBOX: major << 16 | minor */

/* What an event is about: its first word. */
enum mailbox_event {
	MAILBOX_EVENT_THERMAL = 1
};

#ifdef __cplusplus
extern "C" {
#endif

/* Those that there were when it was called: who asks without end does not keep the heart from beating. */
void mailbox_serve(void);
/* Something that the host has not asked for, among the replies. Not if they have no room for it, or there is no mailbox. */
void mailbox_event(enum mailbox_event what, uint32_t detail, uint64_t second, uint64_t third);

#ifdef __cplusplus
}
#endif

#endif
