/* SPDX-License-Identifier: MIT */
#ifndef SIDRA_FIRMWARE_PANIC_H
#define SIDRA_FIRMWARE_PANIC_H

#include <stdint.h>

/* Writes a dump (struct sidra_boot_dump), reports the panic to the host, and stops until the core is reset. */
_Noreturn void panic(uint32_t code);

#endif
