/* SPDX-License-Identifier: MIT */
#include "drivers/flash.h"

#include "drivers/registers.h"
#include "sidra_management.h"

static uint32_t command(uint32_t what, uint32_t offset, const void *local, uint32_t bytes)
{
	write_register(SIDRA_MGMT_FLASH_OFFSET, offset);
	write_register(SIDRA_MGMT_FLASH_LOCAL, local_address(local));
	write_register(SIDRA_MGMT_FLASH_BYTES, bytes);
	__asm__ volatile("" ::: "memory"); /* the block reads and writes memory */
	write_register(SIDRA_MGMT_FLASH_COMMAND, what);
	__asm__ volatile("" ::: "memory");
	return read_register(SIDRA_MGMT_FLASH_RESULT);
}

uint32_t flash_read(uint32_t offset, void *to, uint32_t bytes)
{
	return command(SIDRA_MGMT_FLASH_READ, offset, to, bytes);
}

uint32_t flash_erase(uint32_t offset)
{
	return command(SIDRA_MGMT_FLASH_ERASE, offset, 0, 0);
}

uint32_t flash_program(uint32_t offset, const void *from, uint32_t bytes)
{
	return command(SIDRA_MGMT_FLASH_PROGRAM, offset, from, bytes);
}
