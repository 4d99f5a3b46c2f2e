// SPDX-License-Identifier: MIT
// A queue in a saved chip.
#ifndef SIDRA_CHIP_SAVED_QUEUE_H
#define SIDRA_CHIP_SAVED_QUEUE_H

#include <cstdint>

#include "loader.h"
#include "product.h"
#include "queue.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"

namespace sidra::chip {

struct SavedQueue {
    uint32_t context, queue;
    uint8_t loaded, recheck, deferred, faulted, under_way, call_active;
    uint16_t fault_cause;  // of a unit of the packet in progress
    uint32_t epoch, reserved1;
    sidra_hw_queue entry;
    uint64_t timeline, index, progress, device_ps, energy_pj, engine_ns[SIDRA_HW_ENGINE_COUNT];
    sidra_cmd cmd;
    uint32_t unit, call_position;
    sidra_cmd call;
    uint64_t call_device_ps, call_energy_pj;
    Products products;  // of the packet in progress, at level `accurate`
    uint64_t spent_ps, spent_pj, fault_address;
};
// No padding, whose contents would be undefined.
static_assert(sizeof(SavedQueue) == 24 + 64 + 72 + 64 + 8 + 64 + 16 + 40);

// No other call of the chip may run.

// `analog`: at level `accurate`.
SavedQueue saved_queue(const Queue& queue, bool analog);
// Whether it differs from a queue that was never used.
bool worth_saving(const SavedQueue& saved);
// Restores a queue that was never used. Returns nullptr, or what is wrong.
const char* load_queue(const SavedQueue& saved, Objects& objects, Loader& loader);

}  // namespace sidra::chip

#endif
