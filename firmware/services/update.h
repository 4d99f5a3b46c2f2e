/* SPDX-License-Identifier: MIT */
/*
 * Images that the host sends: into the slot that is not running, verified there, tried at the next start, confirmed by themselves.
 * What is asked out of order is refused; what is cut short leaves the slot without an image, and the running one as it was.
 */
#ifndef SIDRA_FIRMWARE_UPDATE_H
#define SIDRA_FIRMWARE_UPDATE_H

#include <stdint.h>

#include "sidra_boot.h"

#define UPDATE_DATA_MAX 32768u /* so that the watchdog is content */

/* Each: enum sidra_mailbox_status. */
uint32_t update_begin(uint64_t bytes, uint32_t *slot);
/* The next bytes; `offset` is where the last ones ended. */
uint32_t update_data(uint64_t offset, uint64_t bus, uint32_t bytes);
/* *result: enum sidra_image_result. `tried`: at the next start. */
uint32_t update_commit(int tried, uint32_t *result);
/* The image that is in the slot which does not run, at the next start; *result as above, once it was looked at. */
uint32_t update_activate(uint32_t *slot, uint32_t *result);
uint32_t update_confirm(void);
void update_record(struct sidra_boot_record *record);

/* After the image has run for a while: its starts are forgiven, and on trial it confirms itself. */
void update_all_is_well(void);

#endif
