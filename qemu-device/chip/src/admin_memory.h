// SPDX-License-Identifier: MIT
// Admin commands on memory and crossbars: DMA test, NVM, headers and reports of crossbars, erasure, zeros.
#ifndef SIDRA_CHIP_ADMIN_MEMORY_H
#define SIDRA_CHIP_ADMIN_MEMORY_H

#include <cstdint>
#include <optional>

#include "admin_command.h"
#include "array.h"
#include "chip_clock.h"
#include "dma.h"
#include "knobs.h"
#include "lazy_memory.h"

namespace sidra::chip {

// One thread at a time. Long commands have several steps, between which a reset may end them.
class AdminMemory {
   public:
    AdminMemory(Bus& bus, Array& array, LazyMemory& l3, const ChipClock& clock, Knobs& knobs)
        : bus_(bus), array_(array), l3_(l3), clock_(clock), knobs_(knobs) {}

    // Called before the first step of a command.
    void begin() { erased_ = 0; }
    // Returns SIDRA_ADMIN_*; nothing if the command has another step.
    std::optional<uint8_t> step(const AdminCommand& command);

   private:
    std::optional<uint8_t> step_now(const AdminCommand& command);
    uint8_t give(uint64_t bus, const void* data, uint64_t bytes);

    Bus& bus_;
    Array& array_;
    LazyMemory& l3_;
    const ChipClock& clock_;
    Knobs& knobs_;
    uint32_t erased_ = 0;  // crossbars
};

}  // namespace sidra::chip

#endif
