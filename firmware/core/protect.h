/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_PROTECT_H
#define SIDRA_FIRMWARE_PROTECT_H

/*
 * Protects memory until the next reset: code is read-only, data is not executable, and stack overflows and null pointer accesses
 * trap. The entries are locked, so that they also apply in machine mode, in which all of this firmware runs.
 */
void protect_memory(void);

#endif
