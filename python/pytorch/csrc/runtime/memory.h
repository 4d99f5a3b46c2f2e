// SPDX-License-Identifier: MIT
// Device memory: the allocator, and what it counts.
#ifndef SIDRA_PYTORCH_MEMORY_H
#define SIDRA_PYTORCH_MEMORY_H

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sidra::pytorch {

c10::Allocator* device_allocator();
// Gives a storage of a device that many bytes, which begin with what it had.
void resize_storage(const c10::Storage& storage, size_t bytes);

// Of the pool of a device, in bytes and calls: struct sidra_pool_stats. Zeros while nothing has used the device.
struct MemoryStats {
    uint64_t used = 0, reserved = 0, pending = 0, used_peak = 0, reserved_peak = 0, allocations = 0, frees = 0,
             misses = 0;
};
MemoryStats memory_stats(c10::DeviceIndex index);
// Gives unused memory of the pool back.
void empty_cache(c10::DeviceIndex index);
void reset_peak(c10::DeviceIndex index);
// Free and all memory. Tensors live in the host's memory, which is the device's, too.
std::pair<size_t, size_t> memory_info(c10::DeviceIndex index);

// The memory is not given to others before `stream` has done what it has queued when the memory is freed.
void record_stream(const c10::DataPtr& data, const c10::Stream& stream);

}  // namespace sidra::pytorch

#endif
