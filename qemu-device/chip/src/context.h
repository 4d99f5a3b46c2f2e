// SPDX-License-Identifier: MIT
// The state of a context in the chip, with its cached weights objects.
#ifndef SIDRA_CHIP_CONTEXT_H
#define SIDRA_CHIP_CONTEXT_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "array.h"
#include "dma.h"
#include "fault.h"
#include "sidra_hw.h"

namespace sidra::chip {

// Which object an entry of the weights table names, and all that the shape of its grid of tiles follows from.
struct WeightsShape {
    uint64_t uid = 0;
    uint32_t rows = 0, cols = 0;  // K, N
    uint32_t encoding = 0;
    bool operator==(const WeightsShape&) const = default;
};

// A validated copy of a weights table entry.
struct Weights : WeightsShape {
    uint32_t flags;      // SIDRA_HW_WEIGHTS_*
    uint32_t tile_rows;  // size of the grid of tiles
    uint32_t tile_cols;
    uint32_t tile_width;                                // outputs of a full tile: 128 or 256
    std::vector<uint32_t> xbars;                        // row-major, as in the table
    std::vector<const int8_t*> planes;                  // column-major: the tiles of one column of tiles are adjacent
    std::vector<const engine::PlaneVersion*> versions;  // of these
    std::atomic<uint64_t> verified{0};                  // array epoch at which uid owned every tile

    uint32_t tile_inputs(uint32_t i) const;   // used rows of the tiles in row i of the grid
    uint32_t tile_outputs(uint32_t j) const;  // used outputs of the tiles in column j
};

class Context {
   public:
    explicit Context(uint32_t id);

    const uint32_t id;
    // Set while the entry below is valid; cleared only while no queue of the context runs.
    std::atomic<bool> loaded{false};
    sidra_hw_context entry{};
    std::mutex load_lock;  // protects installing this entry and weights; never held across a host callback

    // A queue stores its claim before its slice reads the space; QUIESCE stores a new tag before it reads the claims.
    // Both are sequentially consistent, so a slice that QUIESCE does not wait for uses the new tag.
    AddressSpace space() const {
        return {{Space::kBus, entry.page_table, SIDRA_PAGE_SIZE}, tag_.load(std::memory_order_seq_cst)};
    }
    // Translations made before this call are not used by slices that start after it.
    void invalidate_translations();

    // Returns the cached object, or reads the table entry. The pointer is valid until the queue's claim ends, and
    // while *own is unchanged, which owns an object that does not fit into the cache.
    Fault find_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* own, Weights** weights);
    // For both, no queue of the context may be claimed.
    void drop_weights(uint32_t index);
    void drop_all_weights();

   private:
    Fault read_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* weights);

    std::atomic<uint64_t> tag_;
    const std::unique_ptr<std::atomic<Weights*>[]> weights_;  // by index
    std::vector<std::unique_ptr<Weights>> owned_;             // protected by load_lock
    uint64_t cached_tiles_ = 0;  // number of tiles of all cached objects; protected by load_lock
    // As a multiple of the number of crossbars: disjoint objects of one context fit twice.
    static constexpr uint64_t kCachedTilesMax = 2;
};

}  // namespace sidra::chip

#endif
