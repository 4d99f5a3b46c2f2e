/* SPDX-License-Identifier: MIT */
/* Register access, and memory addresses for the blocks. Host tests of the services replace this header. */
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

/* The address of a memory object for a block. */
static inline uint32_t local_address(const void *local)
{
	return (uint32_t)(uintptr_t)local;
}

#endif
