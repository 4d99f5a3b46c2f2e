/* SPDX-License-Identifier: MIT */
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

#endif
