/* SPDX-License-Identifier: MIT */
/* Registers, and memory as the blocks see it. On a host, where services are tested, another header takes the place of this one. */
#ifndef SIDRA_FIRMWARE_REGISTERS_H
#define SIDRA_FIRMWARE_REGISTERS_H

#include <stdint.h>

static inline uint32_t read_register(uint32_t address)
{
	return *(volatile uint32_t *)(uintptr_t)address;
}

static inline void write_register(uint32_t address, uint32_t value)
{
	*(volatile uint32_t *)(uintptr_t)address = value;
}

/* Where a block finds that, which is about to be told. */
static inline uint32_t local_address(const void *local)
{
	return (uint32_t)(uintptr_t)local;
}

#endif
