// SPDX-License-Identifier: MIT
// Level `cycle`: when, within the time that the cost model gives to a packet, which compute unit works. It adds nothing
// to that time: what it places ends when the packet does.
#ifndef SIDRA_CHIP_SCHEDULE_H
#define SIDRA_CHIP_SCHEDULE_H

#include <cstdint>
#include <span>
#include <vector>

#include "cost_model.h"

namespace sidra::chip {

// Crossbars of one compute unit at work side by side; times from where the packet's work begins.
struct Stretch {
    uint32_t cu;
    uint32_t xbars;
    uint64_t begin_ps, end_ps;
    uint64_t busy_ps;  // of all of them
    uint64_t energy_pj;
};

// A tile, and its share of the work (of any unit, as long as it is the same for all).
struct TileWork {
    uint32_t xbar;
    uint64_t share;
};

// An MVM: tile after tile takes the whole batch, so many side by side as it takes to spend what the power budget gives.
// With mvm_cost() at the nominal clock that is four, which the governor slows down to 3.43, or all of them, if they are
// three or fewer.
std::vector<Stretch> schedule_mvm(std::span<const uint32_t> xbars, uint64_t batch, const Cost& work,
                                  uint32_t xbars_per_cu);

// PROGRAM: one tile after the other.
std::vector<Stretch> schedule_program(std::span<const TileWork> tiles, const Cost& work, uint32_t xbars_per_cu);

}  // namespace sidra::chip

#endif
