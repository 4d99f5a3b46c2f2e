// SPDX-License-Identifier: MIT
// Memory of stream-ordered allocations: chunks from the driver, divided into blocks that are reused without it.
#ifndef SIDRA_POOL_H
#define SIDRA_POOL_H

#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "memory.h"
#include "queue.h"

struct sidra_stream;

namespace sidra {

struct PoolBlock;
struct PoolChunk;

// Which free blocks can be joined: by the epoch in which they were freed (0: no stream uses them) and the kind of their
// chunk.
using PoolKey = std::pair<uint32_t, bool>;

// By key, then by size.
struct PoolOrder {
    struct Wanted {
        PoolKey key;
        uint64_t size;
    };
    using is_transparent = void;
    bool operator()(const PoolBlock* a, const PoolBlock* b) const;
    bool operator()(const PoolBlock* a, const Wanted& wanted) const;
};
using FreeBlocks = std::set<PoolBlock*, PoolOrder>;

struct PoolBlock {
    PoolChunk* chunk;
    uint64_t offset, size;
    PoolBlock *before = nullptr, *after = nullptr;  // neighbours in the chunk
    bool used = false;
    // Where a stream frees it; without a queue: that has happened. Of a block that is used: the point of the free
    // before, as long as it matters.
    Point freed = {};
    FreeBlocks::node_type place = {};  // among the free blocks, while it is in none: to be freed, it needs no memory
};

struct PoolChunk {
    std::unique_ptr<DeviceMemory> memory;
    bool small;  // for small blocks only, so that they do not divide the memory for large ones
    PoolBlock* first;
    bool settled = false;  // some of its blocks became free, and may have to be joined
};

// The pool of a context. Thread-safe.
class Pool {
   public:
    Pool();
    ~Pool() { clear(); }

    // A block of at least `bytes` bytes for work that `stream` will queue. While the stream is recording, it takes only
    // memory that nobody uses any more, because a graph may run on any stream. May wait until the stream's deadline for
    // work that uses freed memory.
    sidra_status allocate(const char* call, sidra_stream* stream, uint64_t bytes, PoolBlock** block);
    // A stream uses the block until `point` at the most.
    void free(PoolBlock* block, Point point);

    // Returns unused chunks to the driver until it has at most `keep` bytes.
    void trim(uint64_t keep);
    sidra_pool_stats stats();  // without struct_size
    void reset_peak();
    // The device no longer uses any of it, and no block is used.
    void clear();

   private:
    // Freed blocks, and what the streams do that may still use them.
    struct Held {
        std::vector<Point> work;
        std::vector<PoolBlock*> blocks;
    };

    // They need no memory.
    void insert(PoolBlock* block) noexcept;
    void remove(PoolBlock* block) noexcept;
    void release(PoolBlock* block) noexcept;
    PoolBlock* join(PoolBlock* block) noexcept;
    void settle(PoolBlock* block) noexcept;
    PoolBlock* fitting(const PoolKey& key, uint64_t size);
    PoolBlock* take(uint32_t epoch, bool small, uint64_t size);
    PoolBlock* take_recent(uint32_t epoch, uint64_t size);
    void note_use(PoolBlock* block);
    sidra_status grow(const char* call, sidra_context* context, bool small, uint64_t bytes);
    void settle();
    bool trim_locked(uint64_t keep);
    Point oldest_pending() const;
    uint64_t pending() const;

    std::mutex mutex_;  // protects all members
    std::list<PoolChunk> chunks_;
    FreeBlocks free_;
    // Small blocks that were freed last, the newest one at the end. A program that allocates the same sizes again and
    // again gets them without dividing and joining blocks. `used` remains set, so their neighbours do not join them;
    // the statistics count them as free. settle() releases all of them.
    std::vector<PoolBlock*> recent_;
    // Blocks whose point of the free is never reached. Their stream may have been about to wait for others that use
    // them, so they stay until all streams have done what was queued when this was found. `used` remains set.
    std::vector<Held> held_;
    sidra_pool_stats stats_{};
};

}  // namespace sidra

#endif
