/* SPDX-License-Identifier: MIT */
#include "drivers/copy.h"

#include "drivers/registers.h"
#include "sidra_management.h"

static uint32_t command(uint32_t what, uint64_t bus, const void *local, uint32_t bytes)
{
	write_register(SIDRA_MGMT_COPY_BUS, (uint32_t)bus);
	write_register(SIDRA_MGMT_COPY_BUS_HIGH, (uint32_t)(bus >> 32));
	write_register(SIDRA_MGMT_COPY_LOCAL, local_address(local));
	write_register(SIDRA_MGMT_COPY_BYTES, bytes);
	__asm__ volatile("" ::: "memory"); /* the engine reads and writes memory */
	write_register(SIDRA_MGMT_COPY_COMMAND, what);
	__asm__ volatile("" ::: "memory");
	return read_register(SIDRA_MGMT_COPY_RESULT);
}

uint32_t copy_from_host(void *to, uint64_t bus, uint32_t bytes)
{
	return command(SIDRA_MGMT_COPY_FROM_HOST, bus, to, bytes);
}

uint32_t copy_to_host(uint64_t bus, const void *from, uint32_t bytes)
{
	return command(SIDRA_MGMT_COPY_TO_HOST, bus, from, bytes);
}
