// SPDX-License-Identifier: MIT
// The memory behind a storage: a buffer of libsidra that the host sees at the same pages, and what residency must know
// of it.
#ifndef SIDRA_PYTORCH_BLOCK_H
#define SIDRA_PYTORCH_BLOCK_H

#include <ATen/core/TensorBase.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <sidra/sidra.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sidra::pytorch {

struct Block {
    sidra_buffer* buffer;
    std::byte* host;
    size_t bytes;  // that were asked for
    c10::DeviceIndex device;
    c10::StreamId stream;                 // of which it was allocated
    uint64_t uid;                         // no other block of the process has or had it
    std::atomic<uint64_t> generation{0};  // grows with each write
    std::atomic<uint64_t> seen{0};        // generation + 1 at which a product last used it as a matrix
    std::atomic<bool> programmed{false};  // residency knows it
    std::mutex lock;                      // of `users`
    std::vector<c10::Stream> users;       // other streams that use it: Tensor.record_stream()
};

// The block of a storage; null: empty, or memory that came from elsewhere.
Block* block_of(const c10::DataPtr& data);
inline Block* block_of(const at::TensorBase& tensor) { return block_of(tensor.storage().data_ptr()); }

// The place of a tensor's first element, for libsidra. Throws if its memory is not the device's.
sidra_ref place_of(const at::TensorBase& tensor);

// Whoever writes to a tensor's memory tells that here: crossbars that were programmed from it are out of date.
inline void mark_written(const at::TensorBase& tensor) {
    if (Block* block = block_of(tensor)) block->generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace sidra::pytorch

#endif
