// SPDX-License-Identifier: MIT
#include "pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <vector>

#include "buffer.h"
#include "fault.h"
#include "kept_error.h"
#include "stream.h"
#include "structs.h"
#include "wait.h"

namespace sidra {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint64_t kGranule = 512;      // of all sizes and offsets
constexpr uint64_t kSmall = kMiB;       // up to this size a block comes from a small chunk
constexpr uint64_t kMedium = 8 * kMiB;  // up to this size several blocks share a chunk
constexpr size_t kRecent = 16;          // freed blocks that are kept for the next allocation of their size
constexpr uint64_t kSmallChunk = 2 * kMiB, kMediumChunk = 16 * kMiB, kLargeStep = 2 * kMiB;

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// Eight sizes between two powers of two, so that a freed block fits more requests than the one that it was made for.
uint64_t size_class(uint64_t bytes) { return round_up(bytes, std::max(std::bit_floor(bytes) / 8, kGranule)); }

uint64_t chunk_size(uint64_t size) {
    return size <= kSmall ? kSmallChunk : size <= kMedium ? kMediumChunk : round_up(size, kLargeStep);
}

// What is left over stays with the block if it is smaller.
uint64_t smallest_rest(bool small) { return small ? kGranule : kMiB; }

Point::State state_of(const Point& point) { return point.queue ? point.state() : Point::State::kReached; }
bool pending(const Point& point) { return state_of(point) == Point::State::kPending; }

uint64_t address_of(const PoolBlock& block) { return block.chunk->memory->address() + block.offset; }
uint32_t epoch_of(const PoolBlock& block) { return block.freed.queue ? block.freed.epoch->number : 0; }
PoolKey key_of(const PoolBlock& block) { return {epoch_of(block), block.chunk->small}; }

// Before all free blocks that a stream may still use.
constexpr PoolOrder::Wanted kInUse{{1, false}, 0};

std::unique_ptr<PoolBlock> make_block(PoolBlock block) {
    auto made = std::make_unique<PoolBlock>(std::move(block));
    FreeBlocks alone{made.get()};
    made->place = alone.extract(alone.begin());
    return made;
}

}  // namespace

bool PoolOrder::operator()(const PoolBlock* a, const PoolBlock* b) const {
    return std::tuple(key_of(*a), a->size, address_of(*a)) < std::tuple(key_of(*b), b->size, address_of(*b));
}

bool PoolOrder::operator()(const PoolBlock* a, const Wanted& wanted) const {
    return std::tuple(key_of(*a), a->size) < std::tuple(wanted.key, wanted.size);
}

Pool::Pool() { recent_.reserve(kRecent); }

void Pool::insert(PoolBlock* block) noexcept { free_.insert(std::move(block->place)); }

void Pool::remove(PoolBlock* block) noexcept { block->place = free_.extract(block); }

PoolBlock* Pool::fitting(const PoolKey& key, uint64_t size) {
    const auto best = free_.lower_bound(PoolOrder::Wanted{key, size});
    return best != free_.end() && key_of(**best) == key ? *best : nullptr;
}

// Takes the best free block for work in an epoch, and divides it. Null: there is none.
PoolBlock* Pool::take(uint32_t epoch, bool small, uint64_t size) {
    PoolBlock* block = fitting({epoch, small}, size);
    if (block == nullptr) block = fitting({0, small}, size);
    if (block == nullptr) return nullptr;
    std::unique_ptr<PoolBlock> rest;
    if (block->size - size >= smallest_rest(small))
        rest = make_block({.chunk = block->chunk,
                           .offset = block->offset + size,
                           .size = block->size - size,
                           .before = block,
                           .after = block->after,
                           .freed = block->freed});
    remove(block);
    if (rest) {
        if (rest->after != nullptr) rest->after->before = rest.get();
        block->size = size;
        block->after = rest.get();
        insert(rest.release());
    }
    block->used = true;
    note_use(block);
    return block;
}

PoolBlock* Pool::take_recent(uint32_t epoch, uint64_t size) {
    for (auto at = recent_.end(); at != recent_.begin();) {
        PoolBlock* block = *--at;
        if (block->size != size || (epoch_of(*block) != 0 && epoch_of(*block) != epoch)) continue;
        recent_.erase(at);
        note_use(block);
        return block;
    }
    return nullptr;
}

void Pool::note_use(PoolBlock* block) {
    if (state_of(block->freed) == Point::State::kReached) block->freed = {};
    stats_.used += block->size;
    stats_.used_peak = std::max(stats_.used_peak, stats_.used);
    ++stats_.allocations;
}

void Pool::release(PoolBlock* block) noexcept {
    block->used = false;
    insert(join(block));
}

sidra_status Pool::grow(const char* call, sidra_context* context, bool small, uint64_t bytes) {
    std::unique_ptr<DeviceMemory> memory;
    SIDRA_TRY(DeviceMemory::create(call, context, bytes, false, &memory));
    std::unique_ptr<PoolBlock> block = make_block({.chunk = nullptr, .offset = 0, .size = bytes});
    block->chunk = &chunks_.emplace_back(PoolChunk{std::move(memory), small, block.get()});
    insert(block.release());
    stats_.reserved += bytes;
    stats_.reserved_peak = std::max(stats_.reserved_peak, stats_.reserved);
    return SIDRA_OK;
}

// Joins a block that is free, and in no set, with its free neighbours of the same key. The result is in no set.
PoolBlock* Pool::join(PoolBlock* block) noexcept {
    for (PoolBlock* other : {block->before, block->after}) {
        if (other == nullptr || other->used || key_of(*other) != key_of(*block)) continue;
        remove(other);
        PoolBlock *first = other == block->before ? other : block, *second = first == other ? block : other;
        if (second->freed.value > first->freed.value) first->freed = second->freed;
        first->size += second->size;
        first->after = second->after;
        if (first->after != nullptr) first->after->before = first;
        delete second;
        block = first;
    }
    return block;
}

// No stream uses the block any more, which is among no free ones.
void Pool::settle(PoolBlock* block) noexcept {
    block->used = false;
    block->freed = {};
    block->chunk->settled = true;
    insert(block);
}

// Finds the blocks that no stream uses any more.
void Pool::settle() {
    for (PoolBlock* block : recent_) release(block);
    recent_.clear();
    Held* held = nullptr;
    for (auto at = free_.lower_bound(kInUse); at != free_.end();) {
        PoolBlock* block = *at++;
        switch (block->freed.state()) {
            case Point::State::kPending:
                break;
            case Point::State::kReached:
                remove(block);
                settle(block);
                break;
            default:
                if (held == nullptr) held = &held_.emplace_back(Held{work_of(block->freed.queue->context), {}});
                held->blocks.push_back(block);
                remove(block);
                block->used = true;
        }
    }
    std::erase_if(held_, [&](Held& each) {
        std::erase_if(each.work, [](const Point& point) { return !sidra::pending(point); });
        if (!each.work.empty()) return false;
        for (PoolBlock* block : each.blocks) settle(block);
        return true;
    });
    for (PoolChunk& chunk : chunks_) {
        if (!std::exchange(chunk.settled, false)) continue;
        for (PoolBlock* block = chunk.first; block != nullptr; block = block->after) {
            if (block->used || block->freed.queue) continue;
            remove(block);
            block = join(block);
            insert(block);
        }
    }
}

bool Pool::trim_locked(uint64_t keep) {
    bool any = false;
    const KeptError before;
    for (auto chunk = chunks_.begin(); chunk != chunks_.end() && stats_.reserved > keep;) {
        PoolBlock* block = chunk->first;
        const uint64_t size = chunk->memory->size();
        // Memory that operations may still use stays, because they would fault.
        if (block->used || block->freed.queue || block->size != size ||
            chunk->memory->release("sidra_pool_trim") != SIDRA_OK) {
            ++chunk;
            continue;
        }
        remove(block);
        delete block;
        chunk = chunks_.erase(chunk);
        stats_.reserved -= size;
        any = true;
    }
    before.restore();
    return any;
}

Point Pool::oldest_pending() const {
    const auto first = free_.lower_bound(kInUse);
    if (first == free_.end()) return held_.empty() ? Point{} : held_.front().work.front();
    const PoolBlock* oldest = *first;
    for (auto at = first; at != free_.end() && epoch_of(**at) == epoch_of(*oldest); ++at)
        if ((*at)->freed.value < oldest->freed.value) oldest = *at;
    return oldest->freed;
}

uint64_t Pool::pending() const {
    uint64_t bytes = 0;
    for (auto at = free_.lower_bound(kInUse); at != free_.end(); ++at) bytes += (*at)->size;
    for (const Held& held : held_)
        for (const PoolBlock* block : held.blocks) bytes += block->size;
    return bytes;
}

sidra_status Pool::allocate(const char* call, sidra_stream* stream, uint64_t bytes, PoolBlock** block) {
    const uint64_t size = size_class(bytes);
    const bool small = size <= kSmall;
    uint32_t epoch = 0;
    uint64_t deadline;
    {
        const std::lock_guard lock(stream->lock);
        if (!stream->recording) epoch = stream->current_queue->epoch->number;
        deadline = stream->deadline;
    }
    std::unique_lock lock(mutex_);
    *block = take_recent(epoch, size);
    if (*block != nullptr) return SIDRA_OK;
    *block = take(epoch, small, size);
    if (*block != nullptr) return SIDRA_OK;
    settle();
    *block = take(epoch, small, size);
    if (*block != nullptr) return SIDRA_OK;
    uint64_t chunk = chunk_size(size);
    const KeptError before;
    for (;;) {
        sidra_status status = grow(call, stream->context, small, chunk);
        if (status == SIDRA_OK) {
            *block = take(epoch, small, size);
            ++stats_.misses;
            before.restore();
            return SIDRA_OK;
        }
        if (status != SIDRA_ERROR_OUT_OF_MEMORY) return status;
        if (chunk > size) {
            chunk = size;
            continue;
        }
        if (trim_locked(0)) continue;
        const Point last = oldest_pending();
        const auto refuse = [&](const char* why) {
            return fail(SIDRA_ERROR_OUT_OF_MEMORY, call,
                        "the system has no {} bytes for context {}: its pool has {} bytes, of which {} are used and {} "
                        "are freed by work that is not done{}. Free allocations, or what else uses memory",
                        size, stream->context->id, stats_.reserved, stats_.used, pending(), why);
        };
        if (!last.queue) return refuse("");
        lock.unlock();
        status = wait_for(call, last, deadline);
        lock.lock();
        if (status == SIDRA_ERROR_TIMEOUT) return refuse(" at the stream's deadline");
        if (sidra::pending(last)) return status;  // the driver refuses to wait
        settle();
        *block = take(epoch, small, size);
        if (*block == nullptr) continue;
        before.restore();
        return SIDRA_OK;
    }
}

void Pool::free(PoolBlock* block, Point point) {
    const std::lock_guard lock(mutex_);
    stats_.used -= block->size;
    ++stats_.frees;
    // If the free before will never be reached, it counts: this one may be in an order that knows nothing of it.
    const Point::State before = state_of(block->freed);
    if (before == Point::State::kReached) block->freed = {};
    if ((before == Point::State::kReached || before == Point::State::kPending) &&
        state_of(point) != Point::State::kReached)
        block->freed = std::move(point);
    if (!block->chunk->small) {
        release(block);
        return;
    }
    if (recent_.size() == kRecent) {
        release(recent_.front());
        recent_.erase(recent_.begin());
    }
    recent_.push_back(block);
}

void Pool::trim(uint64_t keep) {
    const std::lock_guard lock(mutex_);
    settle();
    trim_locked(keep);
}

sidra_pool_stats Pool::stats() {
    const std::lock_guard lock(mutex_);
    settle();
    sidra_pool_stats stats = stats_;
    stats.pending = pending();
    return stats;
}

void Pool::reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.used_peak = stats_.used;
    stats_.reserved_peak = stats_.reserved;
}

void Pool::clear() {
    const std::lock_guard lock(mutex_);
    free_.clear();
    recent_.clear();
    held_.clear();
    for (PoolChunk& chunk : chunks_)
        for (PoolBlock* block = chunk.first; block != nullptr;) delete std::exchange(block, block->after);
    chunks_.clear();
    stats_.reserved = 0;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_malloc_async(sidra_stream* stream, size_t size, sidra_buffer** buffer) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        if (buffer == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`buffer` is NULL; it takes the new handle");
        if (size == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`size` is 0; a buffer has at least one byte");
        sidra_context* context = stream->context;
        if (size >= (uint64_t{1} << SIDRA_VA_BITS))
            return fail(SIDRA_ERROR_OUT_OF_MEMORY, call, "{} bytes do not fit in the {}-bit address space of a context",
                        size, SIDRA_VA_BITS);
        if (const Queue& queue = *stream->queue.load(std::memory_order_acquire); Queue::stopped(queue.run_state()))
            return stopped_status(call, queue);
        PoolBlock* block = nullptr;
        SIDRA_TRY(context->pool->allocate(call, stream, size, &block));
        try {
            *buffer = adopt_block(context, block, size);
        } catch (...) {
            context->pool->free(block, {});
            throw;
        }
        return SIDRA_OK;
    });
}

sidra_status sidra_free_async(sidra_stream* stream, sidra_buffer* buffer) {
    if (buffer == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        Claim<sidra_buffer> claim;
        SIDRA_TRY(claim.take(call, "buffer", buffer));
        SIDRA_TRY(check_context(call, "buffer", buffer, stream->context));
        if (buffer->block == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "buffer {} is not from sidra_malloc_async(); sidra_buffer_destroy() destroys it", buffer->id);
        Point point;
        SIDRA_TRY(current_point(call, stream, &point));
        PoolBlock* block = buffer->block;
        sidra_context* context = buffer->context;
        unname_buffer(*buffer);
        destroy_object(buffer, claim);
        context->pool->free(block, std::move(point));
        return SIDRA_OK;
    });
}

sidra_status sidra_pool_trim(sidra_context* context, size_t keep_bytes) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        context->pool->trim(keep_bytes);
        return SIDRA_OK;
    });
}

sidra_status sidra_pool_get_stats(sidra_context* context, sidra_pool_stats* stats) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        SIDRA_TRY(check_struct(call, "sidra_pool_stats", stats));
        fill_struct(stats, context->pool->stats());
        return SIDRA_OK;
    });
}

sidra_status sidra_pool_reset_peak(sidra_context* context) {
    SIDRA_TRY(check(__func__, "context", context));
    context->pool->reset_peak();
    return SIDRA_OK;
}
