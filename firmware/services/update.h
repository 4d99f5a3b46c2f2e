/* SPDX-License-Identifier: MIT */
/*
 * Updates: the host sends an image into the inactive slot, where it is verified. The ROM tries it at the next start, and it
 * confirms itself. Requests out of order are refused; an interrupted update leaves that slot without a valid image, and does not
 * affect the active one.
 */
#ifndef SIDRA_FIRMWARE_UPDATE_H
#define SIDRA_FIRMWARE_UPDATE_H

#include <stdint.h>

#include "sidra_boot.h"

#define UPDATE_DATA_MAX 32768u /* limited, so that the watchdog does not fire */

/* Return an enum sidra_mailbox_status. BUSY: the running image is on trial and has not confirmed itself. */
uint32_t update_begin(uint64_t bytes, uint32_t *slot);
/* The next bytes; `offset` must be the end of the previous ones. */
uint32_t update_data(uint64_t offset, uint64_t bus, uint32_t bytes);
/* *result: enum sidra_image_result. `tried`: start the image on trial next. */
uint32_t update_commit(int tried, uint32_t *result);
/* Starts the image in the inactive slot on trial next; *result as above, if it was verified. */
uint32_t update_activate(uint32_t *slot, uint32_t *result);
uint32_t update_confirm(void);
void update_record(struct sidra_boot_record *record);

/* Called after the image has run for a while: resets its count of starts, and confirms it if on trial. */
void update_all_is_well(void);

#endif
