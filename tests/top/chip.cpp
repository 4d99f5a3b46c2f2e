// SPDX-License-Identifier: MIT
#include "draw.h"

namespace sidra::top {

Chip whole_chip() {
    Chip chip;
    chip.name = "sidra0";
    chip.detail = "0000:01:00.0";
    chip.state = "ready";
    chip.firmware = "1.2.3";
    chip.busy = 45;
    chip.clock = 800;
    chip.clock_max = 1000;
    chip.l3_used = 4 << 20;
    chip.l3_size = 16 << 20;
    chip.queues = 2;
    const double newest[kSeries] = {41, 12, 7, 3, 22.5, 61.25, 1.5e9, 25000};
    for (size_t i = 0; i < kSeries; ++i) chip.series[i].push(newest[i]);
    chip.power_limit = 75;
    chip.temperature_max = 95;
    chip.temperature_critical = 105;
    chip.crossbars_used = 3;
    chip.crossbars_total = 32;
    chip.geometry = {2, 4, 4};
    chip.crossbars.resize(32);
    chip.crossbars[0] = {256, 1, 0};
    chip.crossbars[9] = {128, 7, 2};
    chip.crossbars[31] = {16, 2, 5};
    chip.processes = {{100, "ann", "alpha", {41.0, 2.0, 0.0, 0.0}, 2000000}, {200, "bob", "beta", {}, {}}};
    return chip;
}

}  // namespace sidra::top
