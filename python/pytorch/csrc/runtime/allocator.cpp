// SPDX-License-Identifier: MIT
// Device memory: PyTorch's allocator over libsidra's stream-ordered pool, which caches.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include "aten/quantised.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/memory.h"

namespace sidra::pytorch {
namespace {

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
using DeviceAllocator = c10::DeviceAllocator;
#define SIDRA_OVERRIDE override
#else
using DeviceAllocator = c10::Allocator;
#define SIDRA_OVERRIDE
#endif

std::atomic<uint64_t> uids{1};

// Another stream that uses the block must have done its work before the memory is free again: the block's own stream
// waits for it, or the host if that stream is another device's or has stopped.
void wait_for_users(const Block& block, const Device& on) {
    for (const c10::Stream& stream : block.users) {
        if (stream.device_index() != block.device || on.wait_for(block.stream, stream.id()) != SIDRA_OK)
            static_cast<void>(sidra_stream_synchronize(device(stream.device_index()).stream(stream.id()), SIDRA_NEVER));
    }
}

// Runs in destructors, so a failure (the device is lost) has nobody to tell: the pool has taken the memory back, or
// never will.
void free_block(void* context) {
    auto* block = static_cast<Block*>(context);
    const Device& on = device(block->device);
    if (block->programmed.load(std::memory_order_relaxed)) residency_forget(block->device, block->uid);
    wait_for_users(*block, on);
    static_cast<void>(sidra_free_async(on.stream(block->stream), block->buffer));
    delete block;
}

class Allocator final : public DeviceAllocator {
   public:
    c10::DataPtr allocate(size_t bytes) override {
        const c10::DeviceIndex index = current_device();
        const c10::Device where(c10::DeviceType::PrivateUse1, index);
        if (bytes == 0) return {nullptr, nullptr, &free_nothing, where};
        const Device& on = device(index);
        auto block = std::make_unique<Block>();
        block->bytes = bytes;
        block->device = index;
        block->stream = current_stream_id(index);
        block->uid = uids.fetch_add(1, std::memory_order_relaxed);
        check(sidra_malloc_async(on.stream(block->stream), bytes, &block->buffer));
        void* host = nullptr;
        if (const sidra_status status = sidra_buffer_map(block->buffer, &host); status != SIDRA_OK) {
            static_cast<void>(sidra_free_async(on.stream(block->stream), block->buffer));
            fail(status);
        }
        block->host = static_cast<std::byte*>(host);
        return {host, block.release(), &free_block, where};
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }  // the pointer to free is not the one to use
    void copy_data(void* destination, const void* source, size_t bytes) const override {
        synchronize_current_stream(current_device());
        default_copy_data(destination, source, bytes);
    }

    bool initialized() SIDRA_OVERRIDE { return true; }
    void recordStream(const c10::DataPtr& data, c10::Stream stream) SIDRA_OVERRIDE { record_stream(data, stream); }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
    void emptyCache(c10::MempoolId_t) override {
        for (c10::DeviceIndex i = 0; i < device_count(); ++i) empty_cache(i);
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        c10::CachingDeviceAllocator::DeviceStats all;
        const MemoryStats stats = memory_stats(index);
        const auto set = [](c10::CachingAllocator::StatArray& stat, uint64_t now, uint64_t peak) {
            stat[0].current = static_cast<int64_t>(now);
            stat[0].peak = static_cast<int64_t>(peak);
        };
        set(all.allocated_bytes, stats.used, stats.used_peak);
        set(all.active_bytes, stats.used, stats.used_peak);
        set(all.requested_bytes, stats.used, stats.used_peak);
        set(all.reserved_bytes, stats.reserved, stats.reserved_peak);
        all.allocation[0].current = static_cast<int64_t>(stats.allocations - stats.frees);
        all.allocation[0].allocated = static_cast<int64_t>(stats.allocations);
        all.allocation[0].freed = static_cast<int64_t>(stats.frees);
        all.num_device_alloc = static_cast<int64_t>(stats.misses);
        return all;
    }
    void resetAccumulatedStats(c10::DeviceIndex) override {}  // libsidra counts since the context's creation
    void resetPeakStats(c10::DeviceIndex index) override { reset_peak(index); }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override { return memory_info(index); }
#endif

   private:
    static void free_nothing(void*) {}
};

Allocator allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &allocator);

}  // namespace

c10::Allocator* device_allocator() { return &allocator; }

void resize_storage(const c10::Storage& storage, size_t bytes) {
    TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
    const DeviceScope scope(storage.device());
    c10::DataPtr data = allocator.allocate(bytes);
    if (const size_t kept = std::min(bytes, storage.nbytes()); kept > 0) {
        synchronize_current_stream(storage.device().index());
        std::memcpy(data.get(), storage.data(), kept);
    }
    storage.set_data_ptr_noswap(std::move(data));
    storage.set_nbytes(bytes);
}

Block* block_of(const c10::DataPtr& data) {
    return data.get_deleter() == &free_block ? static_cast<Block*>(data.get_context()) : nullptr;
}

sidra_ref place_of(const at::TensorBase& tensor) {
    const auto* at = static_cast<const std::byte*>(tensor.const_data_ptr());
    if (const Block* block = block_of(tensor)) [[likely]]
        return {block->buffer, static_cast<size_t>(at - block->host)};
    sidra_ref ref{};
    check(sidra_buffer_find(device(tensor.device().index()).context(), at, &ref));
    return ref;
}

void record_stream(const c10::DataPtr& data, const c10::Stream& stream) {
    Block* block = block_of(data);
    if (block == nullptr || stream.device_type() != c10::DeviceType::PrivateUse1) return;
    if (stream.device_index() == block->device && stream.id() == block->stream) return;
    static_cast<void>(device(stream.device_index()).stream(stream.id()));  // it exists
    const std::lock_guard guard(block->lock);
    if (std::find(block->users.begin(), block->users.end(), stream) == block->users.end())
        block->users.push_back(stream);
}

MemoryStats memory_stats(c10::DeviceIndex index) {
    if (!is_open(index)) return {};
    auto stats = SIDRA_INIT(sidra_pool_stats);
    check(sidra_pool_get_stats(device(index).context(), &stats));
    return {stats.used,          stats.reserved,    stats.pending, stats.used_peak,
            stats.reserved_peak, stats.allocations, stats.frees,   stats.misses};
}

void empty_cache(c10::DeviceIndex index) {
    drop_ended_layers(index);
    if (is_open(index)) check(sidra_pool_trim(device(index).context(), 0));
}

void reset_peak(c10::DeviceIndex index) {
    if (is_open(index)) check(sidra_pool_reset_peak(device(index).context()));
}

}  // namespace sidra::pytorch
