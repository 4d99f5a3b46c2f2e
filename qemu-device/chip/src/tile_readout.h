// SPDX-License-Identifier: MIT
// Level `accurate`: a programmed tile as its ADCs see it. Finding what wires do to the cells takes some time, so it is
// done once for each content of a crossbar, and again after some drift. Jobs hold what they need of that.
#ifndef SIDRA_CHIP_TILE_READOUT_H
#define SIDRA_CHIP_TILE_READOUT_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
    int32_t sums[SIDRA_XBAR_COLS];  // of the weights that it is a readout of
    // The gain error of each column, per unit of the sum of all inputs, as measured with equal inputs. It is
    // subtracted after the ADCs: in offset encoding, the loss that wires cause in all cells alike would otherwise
    // dominate the result.
    float excess[SIDRA_XBAR_COLS];
};

// A readout, of which all jobs that need the same one share one. It is there before it is made: Analog::make().
struct SharedReadout {
    // What it is of: a content of the crossbar, after some drift. Protected by the crossbar's lock.
    struct Key {
        uint64_t version;
        uint32_t drift;
        sidra_encoding encoding;  // the weights table may change that of an object
        bool operator==(const Key&) const = default;
    };
    explicit SharedReadout(const Key& of) : key(of) {}

    Key key;
    std::unique_ptr<const TileReadout> tile;  // null: not made; set once, with both of the crossbar's locks
    std::atomic<bool> wanted{false};          // a job waits until this one is given back
};

// The readouts of each crossbar: the last one, for the next job, and those that jobs hold. The caller serializes calls
// for a crossbar.
class TileCache {
   public:
    // A job needs the readouts that it has begun with until it ends, while the jobs after a change need others. This
    // limits their memory, some 200 KB each, to twice that of all crossbars, whatever jobs there are: others wait.
    static constexpr size_t kReadoutsMax = 2;

    explicit TileCache(uint32_t xbars) : cached_(xbars) {}
    uint32_t xbars() const { return static_cast<uint32_t>(cached_.size()); }
    // Null if jobs hold as many others as there may be; these are wanted from now on.
    std::shared_ptr<SharedReadout> share(uint32_t xbar, const SharedReadout::Key& key);
    // The content has changed: no other job needs the last readout.
    void drop(uint32_t xbar) { cached_[xbar].last.reset(); }
    // No job holds a readout.
    void clear() { std::fill(cached_.begin(), cached_.end(), Cached{}); }

   private:
    struct Cached {
        std::array<std::weak_ptr<SharedReadout>, kReadoutsMax> all;
        std::shared_ptr<SharedReadout> last;
    };
    std::vector<Cached> cached_;
};

// The readouts that a job holds, of all tiles of its object, by their numbers in the grid. Its first units make those
// that nobody has made yet, and the others only read them: making one takes Analog::kTileNs, too long for a unit to
// make many.
class Readouts {
   public:
    bool held() const { return !tiles_.empty(); }
    std::span<const uint32_t> crossbars() const { return crossbars_; }  // that they are of
    // Numbers of the tiles whose readouts were not made when the job took them.
    std::span<const uint32_t> unmade() const { return unmade_; }
    SharedReadout& shared(uint32_t tile) const { return *tiles_[tile]; }
    const TileReadout& made(uint32_t tile) const;
    // Before they are given back: who still waits for one afterwards wants it again.
    void unwant() const {
        for (const auto& each : tiles_) each->wanted.store(false, std::memory_order_relaxed);
    }

   private:
    friend class Analog;
    std::vector<uint32_t> crossbars_, unmade_;
    std::vector<std::shared_ptr<SharedReadout>> tiles_;
    uint64_t wishes_ = 0;  // Analog::wishes_ when it has last looked for wanted ones
};

}  // namespace sidra::chip

#endif
