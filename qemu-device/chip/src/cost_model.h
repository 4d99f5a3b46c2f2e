// SPDX-License-Identifier: MIT
// The cost model: the time (picoseconds) and energy (picojoules) that the real chip would take. All costs derive from
// one table. Public Y1 figures are marked [Y1], our decisions [ours].
#ifndef SIDRA_CHIP_COST_MODEL_H
#define SIDRA_CHIP_COST_MODEL_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>

#include "power.h"
#include "sidra_hw.h"

namespace sidra::chip {

struct Cost {
    uint64_t device_ps = 0;
    uint64_t energy_pj = 0;
    Cost& operator+=(const Cost& other) {
        device_ps += other.device_ps;
        energy_pj += other.energy_pj;
        return *this;
    }
};

struct CostTable {
    uint64_t packet_ps = 4'000;          // [ours] fetch, decode, retire: 4 cycles at 1 GHz
    uint64_t packet_pj = 20;             // [ours]
    uint64_t mvm_ps = 15'000;            // [Y1] one crossbar MVM, 15 ns
    uint64_t mvm_pj = 13'107;            // [Y1] 3 W at 30 TOPS = 0.1 pJ per operation x 131,072 operations
    uint64_t power_mw = 3'000;           // [Y1] budget that limits how many crossbars work at once
    uint64_t vec_elements_per_ns = 256;  // [ours] 256 lanes of the compute engine at 1 GHz (page: "1 ns with 256 ALUs")
    uint64_t vec_element_fj = 1'000;     // [ours] 1 pJ per element
    uint64_t vec_byte_macs = 4;          // [ours] products of 8-bit integers that a lane adds at once
    uint64_t link_bytes_per_ns = 16;     // [Y1] PCIe 5.0 x4, 16 GB/s
    uint64_t link_byte_fj = 5'000;       // [ours] 5 pJ per byte
    uint64_t program_pulse_ps = 10'000;  // [Y1] first SET pulse, 10 ns
    uint64_t program_pulses = 6;         // [Y1] 5-7 on average
    uint64_t program_parallel_cells = 256;  // [ours] one row of a crossbar at a time
    uint64_t program_cell_pj = 50;          // [ours] 6 pulses of 1.5 V with verify reads
    uint64_t verify_row_ps = 60'000;        // [ours] four reads of 15 ns, as ISPP averages them
    uint64_t verify_cell_fj = 400;          // [ours] 0.1 pJ per read
    uint64_t adc_read_ps = 15'000;          // [Y1] all columns at once, as in an MVM
    uint64_t adc_read_fj = 100;             // [ours] per column; a quarter of the above
};

inline constexpr CostTable kCosts{};

// Converts a cost at the nominal clock to a clock level: logic takes longer in proportion and uses less energy. The
// times of arrays (15 ns, pulses) and of the link do not depend on the clock.
constexpr Cost at_clock(Cost logic, uint32_t level) {
    using namespace management;
    static_assert(energy_permille(kClockNominal) == 1'000);
    if (level == kClockNominal) return logic;  // without a division, because each packet needs it
    return {logic.device_ps * kClockLevels[kClockNominal].mhz / kClockLevels[level].mhz,
            logic.energy_pj * energy_permille(level) / 1'000};
}

// Precomputed, because each packet needs it: no division.
inline constexpr auto kPacketCosts = [] {
    std::array<Cost, std::size(management::kClockLevels)> costs;
    for (uint32_t level = 0; level < costs.size(); level++)
        costs[level] = at_clock({kCosts.packet_ps, kCosts.packet_pj}, level);
    return costs;
}();
constexpr Cost packet_cost(uint32_t level) { return kPacketCosts[level]; }

// `xbars` crossbars, `batch` vectors. Crossbars work in parallel, as many as the power budget allows. A slower clock
// allows fewer, in proportion to the published modes (50 % at 500 MHz, 25 % at 250 MHz).
constexpr Cost mvm_cost(uint64_t xbars, uint64_t batch, uint32_t level) {
    const uint64_t energy = xbars * batch * kCosts.mvm_pj;
    const Cost fed = at_clock({energy * 1'000 / kCosts.power_mw, energy}, level);  // pJ / mW = ns
    return {std::max(batch * kCosts.mvm_ps, fed.device_ps), fed.energy_pj};
}

// Consistency of the two published figures: with all crossbars busy, 30 operations per picosecond, within 0.1 %.
inline constexpr uint64_t kAllBusyPs = mvm_cost(6'400, 1'000, management::kClockNominal).device_ps;
static_assert(kAllBusyPs * 30 * 1'000 > 6'400'000ull * 131'072 * 999 &&
              kAllBusyPs * 30 * 1'000 < 6'400'000ull * 131'072 * 1'001);

constexpr Cost vec_cost(uint64_t elements, uint32_t level) {
    return at_clock({(elements * 1'000 + kCosts.vec_elements_per_ns - 1) / kCosts.vec_elements_per_ns,
                     elements * kCosts.vec_element_fj / 1'000},
                    level);
}

// Multiply-accumulates of the compute engine: one of f32 in a lane, or several of 8-bit integers.
constexpr Cost matmul_cost(uint64_t macs, bool floats, uint32_t level) {
    return vec_cost(floats ? macs : macs / kCosts.vec_byte_macs, level);
}

// Every element is looked at once, and those that are wanted once more for each doubling of their number.
constexpr Cost sort_cost(uint64_t rows, uint64_t cols, uint64_t count, uint32_t level) {
    return vec_cost(rows * (cols + count * static_cast<uint64_t>(std::bit_width(count - 1))), level);
}

constexpr Cost copy_cost(uint64_t bytes) {
    return {bytes * 1'000 / kCosts.link_bytes_per_ns, bytes * kCosts.link_byte_fj / 1'000};
}

constexpr Cost program_cost(uint64_t cells) {
    const uint64_t groups = (cells + kCosts.program_parallel_cells - 1) / kCosts.program_parallel_cells;
    return {groups * kCosts.program_pulses * kCosts.program_pulse_ps, cells * kCosts.program_cell_pj};
}

constexpr Cost verify_cost(uint64_t rows, uint64_t cells) {
    return {rows * kCosts.verify_row_ps, cells * kCosts.verify_cell_fj / 1'000};
}

// `reads` reads of the ADCs of all crossbars in parallel, with no input driven.
constexpr Cost calibrate_cost(uint64_t xbars, uint64_t reads) {
    return {reads * kCosts.adc_read_ps, xbars * SIDRA_XBAR_COLS * reads * kCosts.adc_read_fj / 1'000};
}

}  // namespace sidra::chip

#endif
