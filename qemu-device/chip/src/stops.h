// SPDX-License-Identifier: MIT
// What software has stopped: the device, contexts, queues. A stopped queue starts no slice.
#ifndef SIDRA_CHIP_STOPS_H
#define SIDRA_CHIP_STOPS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "objects.h"

namespace sidra::chip {

// Any thread; sequentially consistent with the claims of queues.
class Stops {
   public:
    static constexpr uint8_t kAsked = 1;  // of a context: by QUIESCE_CONTEXT
    static constexpr uint8_t kHeld = 2;   // of a context: for a moment, by QUIESCE_WEIGHTS

    std::atomic<bool> device{false};
    std::array<std::atomic<uint8_t>, SIDRA_CONTEXTS_MAX> context{};                                // kAsked | kHeld
    const std::unique_ptr<std::atomic<uint8_t>[]> queue { new std::atomic<uint8_t>[ kSlots ]() };  // by slot

    bool stopped(uint32_t of_context, uint32_t id) const {
        return device.load() || context[of_context].load() != 0 || queue[slot(of_context, id)].load() != 0;
    }
    // All but the device's.
    void clear() {
        for (auto& each : context) each.store(0);
        for (size_t i = 0; i < kSlots; i++)
            if (queue[i].load(std::memory_order_relaxed)) queue[i].store(0);
    }
};

}  // namespace sidra::chip

#endif
