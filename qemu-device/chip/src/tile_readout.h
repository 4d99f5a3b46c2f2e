// SPDX-License-Identifier: MIT
// Level `accurate`: a programmed tile as its ADCs see it. Finding what wires do to the cells takes some time, so it is
// done once for each content of a crossbar, and again after some drift.
#ifndef SIDRA_CHIP_TILE_READOUT_H
#define SIDRA_CHIP_TILE_READOUT_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cells.h"
#include "readout.h"
#include "sidra_hw.h"

namespace sidra::chip {

// The part of a crossbar that an object uses, and the sum of the weights of each output.
struct TileShape {
    uint32_t xbar, rows, outputs;
    sidra_encoding encoding;
    const int32_t* sums;
};

struct TileReadout {
    // `siemens`: the conductance of each physical cell, which becomes scratch memory. `moved`: see CellRecord.
    TileReadout(const TileShape& shape, const physics::CellParameters& cells, uint64_t seed, double* siemens,
                const uint8_t* moved);

    physics::Readout readout;
    // The gain error of each column, per unit of the sum of all inputs, as measured with equal inputs. It is
    // subtracted after the ADCs: in offset encoding, the loss that wires cause in all cells alike would otherwise
    // dominate the result.
    float excess[SIDRA_XBAR_COLS];
};

// The last readout of each crossbar. The caller serializes calls for a crossbar.
class TileCache {
   public:
    explicit TileCache(uint32_t xbars) : cached_(xbars) {}
    uint32_t xbars() const { return static_cast<uint32_t>(cached_.size()); }
    // Null if the readout is of another content, or of before more drift.
    std::shared_ptr<const TileReadout> find(uint32_t xbar, uint64_t version, uint32_t drift) const {
        const Cached& cached = cached_[xbar];
        return cached.version == version && cached.drift == drift ? cached.tile : nullptr;
    }
    void put(uint32_t xbar, uint64_t version, uint32_t drift, std::shared_ptr<const TileReadout> tile) {
        cached_[xbar] = {version, drift, std::move(tile)};
    }
    void drop(uint32_t xbar) { cached_[xbar] = {}; }

   private:
    struct Cached {
        uint64_t version = 0;
        uint32_t drift = 0;
        std::shared_ptr<const TileReadout> tile;
    };
    std::vector<Cached> cached_;
};

}  // namespace sidra::chip

#endif
