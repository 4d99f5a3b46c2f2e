// SPDX-License-Identifier: MIT
// MSI-X vectors, and the causes behind the first of them.
#ifndef SIDRA_CHIP_INTERRUPTS_H
#define SIDRA_CHIP_INTERRUPTS_H

#include <atomic>
#include <cstdint>

#include "counters.h"
#include "dma.h"
#include "knobs.h"
#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip {

// Any thread.
class Interrupts {
   public:
    Interrupts(const sidra_chip_host& host, const Bus& bus, Knobs& knobs, Counters& counters)
        : host_(host), bus_(bus), knobs_(knobs), counters_(counters) {}

    std::atomic<uint32_t> status{0}, enable{0};  // the registers

    void raise(unsigned vector) {
        if (bus_.link_lost.load(std::memory_order_relaxed) || knobs_.loses_interrupt()) return;
        counters_.interrupts.fetch_add(1, std::memory_order_relaxed);
        host_.msix(host_.self, vector);
    }
    void raise_for(uint32_t cause) {
        status.fetch_or(cause);
        if (enable.load() & cause) raise(SIDRA_MSIX_ADMIN);
    }

   private:
    const sidra_chip_host& host_;
    const Bus& bus_;
    Knobs& knobs_;
    Counters& counters_;
};

}  // namespace sidra::chip

#endif
