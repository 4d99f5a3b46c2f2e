/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_PROTECT_H
#define SIDRA_FIRMWARE_PROTECT_H

/*
 * From here on, until a reset: code is what it is, data is no code, a stack that grows too far traps, and so does whoever takes 0 for an
 * address. Locked, so that it binds this, which is all in machine mode.
 */
void protect_memory(void);

#endif
