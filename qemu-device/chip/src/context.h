// SPDX-License-Identifier: MIT
// What the chip knows of a context, and its cached weights objects.
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

// A validated copy of a weights table entry.
struct Weights {
    uint64_t uid;
    uint32_t rows, cols;  // K, N
    uint32_t flags;       // SIDRA_HW_WEIGHTS_*
    uint32_t encoding;
    uint32_t tile_rows;  // grid
    uint32_t tile_cols;
    uint32_t tile_width;                // outputs of a full tile: 128 or 256
    std::vector<uint32_t> xbars;        // row-major, as in the table
    std::vector<const int8_t*> planes;  // column-major: all tiles of one column of tiles lie together
    std::atomic<uint64_t> verified{0};  // array epoch at which every tile was found programmed by uid

    uint32_t tile_inputs(uint32_t i) const;   // used rows of tiles in row i of the grid
    uint32_t tile_outputs(uint32_t j) const;  // used outputs of tiles in column j
};

class Context {
   public:
    explicit Context(uint32_t id);

    const uint32_t id;
    // Set while the entry below is valid; cleared only when no queue of the context runs.
    std::atomic<bool> loaded{false};
    sidra_hw_context entry{};
    std::mutex load_lock;  // of installing this entry and weights; never held across a host callback

    // The claim of a queue is stored before its slice asks for the space; QUIESCE stores a new tag before it looks at
    // claims. Both are sequentially consistent, so that a slice which QUIESCE does not wait for has the new tag.
    AddressSpace space() const {
        return {{Space::kBus, entry.page_table, SIDRA_PAGE_SIZE}, tag_.load(std::memory_order_seq_cst)};
    }
    // No translation made before this call is used by a slice that starts after it.
    void invalidate_translations();

    // Cached object, or the table entry read now. The pointer stays valid until the caller's slice ends, and as long as
    // *own stays as it is: that holds an object which is one too many for the cache.
    Fault find_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* own, Weights** weights);
    // Both need that no slice of the context runs.
    void drop_weights(uint32_t index);
    void drop_all_weights();

   private:
    Fault read_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* weights);

    std::atomic<uint64_t> tag_;
    const std::unique_ptr<std::atomic<Weights*>[]> weights_;  // by index
    std::vector<std::unique_ptr<Weights>> owned_;             // under load_lock
    uint64_t cached_tiles_ = 0;                               // of all of them, under load_lock
    // Times the crossbars of the chip: objects of one context that share none of them fit twice.
    static constexpr uint64_t kCachedTilesMax = 2;
};

}  // namespace sidra::chip

#endif
