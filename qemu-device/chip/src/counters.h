// SPDX-License-Identifier: MIT
// What the chip has done, for telemetry.
#ifndef SIDRA_CHIP_COUNTERS_H
#define SIDRA_CHIP_COUNTERS_H

#include <array>
#include <atomic>
#include <cstdint>

#include "sidra_hw.h"

namespace sidra::chip {

struct Counters {
    std::atomic<uint64_t> packets{0}, call_packets{0}, faults{0}, arms{0}, mmio_reads{0}, mmio_writes{0}, interrupts{0};
    std::atomic<uint64_t> mvms{0}, macs{0}, vec_elements{0}, copy_bytes{0}, programmed_cells{0};
    std::atomic<uint64_t> device_ps{0}, energy_pj{0};
    std::atomic<uint64_t> calibrated_ns{0};  // device clock of the last calibration

    // By context: one cache line each, so that streams share none when they submit.
    struct alignas(64) Doorbells {
        std::atomic<uint64_t> count{0};
    };
    std::array<Doorbells, SIDRA_CONTEXTS_MAX> doorbells;
};

}  // namespace sidra::chip

#endif
