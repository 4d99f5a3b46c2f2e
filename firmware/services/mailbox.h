/* SPDX-License-Identifier: MIT */
/* The mailbox (uapi/sidra_hw.h): requests that the host has announced, one after another, each with its reply. */
#ifndef SIDRA_FIRMWARE_MAILBOX_H
#define SIDRA_FIRMWARE_MAILBOX_H

#define MAILBOX_VERSION (1u << 16 | 0u) /* SIDRA_FW_API_MAILBOX: major << 16 | minor */

#ifdef __cplusplus
extern "C" {
#endif

/* Those that there were when it was called: who asks without end does not keep the heart from beating. */
void mailbox_serve(void);

#ifdef __cplusplus
}
#endif

#endif
