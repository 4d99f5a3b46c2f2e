/* SPDX-License-Identifier: MIT */
/* In the place of the firmware's header of this name: registers and memory are those of the board (board.h). */
#ifndef SIDRA_FIRMWARE_REGISTERS_H
#define SIDRA_FIRMWARE_REGISTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t read_register(uint32_t address);
void write_register(uint32_t address, uint32_t value);
uint32_t local_address(const void* local);

#ifdef __cplusplus
}
#endif

#endif
