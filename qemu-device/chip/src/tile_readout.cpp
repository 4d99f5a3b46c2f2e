// SPDX-License-Identifier: MIT
#include "tile_readout.h"

#include <algorithm>
#include <cassert>

#include "chip_wires.h"

namespace sidra::chip {
namespace {

physics::ReadoutParameters readout_parameters() {
    physics::ReadoutParameters parameters;
    parameters.adc_follows = true;
    return parameters;
}

// What the columns of the weights conduct through the wires, relative to G_max, in the place of `g`.
const double* effective(const TileShape& shape, const physics::CellParameters& cells, double* g, const uint8_t* moved) {
    physics::EffectiveConductance().find(g, SIDRA_XBAR_ROWS, SIDRA_XBAR_COLS, physics::kChipWires, g);
    // Convert from physical columns to columns of weights.
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++) {
        double* const of_row = &g[size_t{row} * SIDRA_XBAR_COLS];
        double placed[SIDRA_XBAR_COLS];
        std::copy_n(of_row, SIDRA_XBAR_COLS, placed);
        for (uint32_t column = 0; column < SIDRA_XBAR_COLS; column++) of_row[column] = placed[column ^ moved[column]];
    }
    // Exclude unused cells from the sums.
    const bool pairs = shape.encoding == SIDRA_ENCODING_DIFFERENTIAL;
    const uint32_t columns = pairs ? 2 * shape.outputs : shape.outputs;
    const double nothing = pairs ? 0 : static_cast<double>(physics::conductance_of(cells, 128));
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        for (uint32_t column = 0; column < SIDRA_XBAR_COLS; column++) {
            double& cell = g[size_t{row} * SIDRA_XBAR_COLS + column];
            cell = row < shape.rows && column < columns ? std::max(cell / cells.g_max_siemens, 0.0) : nothing;
        }
    return g;
}

}  // namespace

TileReadout::TileReadout(const TileShape& shape, const physics::CellParameters& cells, uint64_t seed, double* siemens,
                         const uint8_t* moved)
    : readout(effective(shape, cells, siemens, moved), shape.encoding, readout_parameters(), seed, shape.xbar),
      sums{},
      excess{} {
    std::copy_n(shape.sums, shape.outputs, sums);
    float read[SIDRA_XBAR_COLS];
    readout.weight_sums(shape.rows, read);
    for (uint32_t c = 0; c < shape.outputs; c++)
        excess[c] = (read[c] - static_cast<float>(sums[c])) / static_cast<float>(shape.rows);
}

std::shared_ptr<SharedReadout> TileCache::share(uint32_t xbar, const SharedReadout::Key& key) {
    Cached& cached = cached_[xbar];
    for (const auto& each : cached.all)
        if (auto found = each.lock(); found && found->key == key) return cached.last = found;
    // A job gets a readout only from here, so one that no job holds stays so.
    if (cached.last.use_count() == 1) cached.last.reset();
    for (auto& place : cached.all) {
        if (!place.expired()) continue;
        place = cached.last = std::make_shared<SharedReadout>(key);
        return cached.last;
    }
    for (const auto& each : cached.all)
        if (const auto held = each.lock()) held->wanted.store(true, std::memory_order_relaxed);
    return nullptr;
}

const TileReadout& Readouts::made(uint32_t tile) const {
    assert(tiles_[tile]->tile);
    return *tiles_[tile]->tile;
}

}  // namespace sidra::chip
