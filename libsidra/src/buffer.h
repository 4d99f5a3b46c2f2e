// SPDX-License-Identifier: MIT
// Buffers, and the check of each place in a buffer that an operation names.
#ifndef SIDRA_BUFFER_H
#define SIDRA_BUFFER_H

#include <memory>

#include "context.h"
#include "handle.h"
#include "memory.h"

namespace sidra {
struct PoolBlock;
}

struct sidra_buffer : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kBuffer;

    sidra_context* context = nullptr;
    uint64_t address = 0;  // of memory, cached for the hot path
    uint64_t size = 0;
    std::byte* host = nullptr;  // of memory
    bool readonly = false;
    bool local = false;                           // in L3
    std::unique_ptr<sidra::DeviceMemory> memory;  // none: in the pool
    sidra::PoolBlock* block = nullptr;            // its part of the pool
};

namespace sidra {

enum class Access { kRead, kWrite };

// Number of bytes from the start of the first to the end of the last of `rows` rows; UINT64_MAX if that overflows.
inline uint64_t extent_of(uint64_t rows, uint64_t row_bytes, uint64_t stride) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(rows - 1, stride, &bytes) || __builtin_add_overflow(bytes, row_bytes, &bytes))
        return UINT64_MAX;
    return bytes;
}

[[gnu::cold]] sidra_status bad_ref(const char* call, const char* name, const sidra_buffer& buffer, uint64_t offset,
                                   uint64_t bytes, uint32_t alignment, Access access);

// Returns the device address of `bytes` bytes at `ref`. The buffer must belong to `context`, contain the bytes, be
// aligned, and be writable for write access.
inline sidra_status resolve(const char* call, const char* name, const sidra_context* context, const sidra_ref& ref,
                            uint64_t bytes, uint32_t alignment, Access access, uint64_t* address) {
    sidra_buffer* object = ref.buffer;
    SIDRA_TRY(check(call, name, object));
    const sidra_buffer& buffer = *object;
    SIDRA_TRY(check_context(call, name, object, context));
    const uint64_t at = buffer.address + ref.offset;
    if (ref.offset > buffer.size || bytes > buffer.size - ref.offset || at % alignment != 0 ||
        (access == Access::kWrite && buffer.readonly)) [[unlikely]]
        return bad_ref(call, name, buffer, ref.offset, bytes, alignment, access);
    *address = at;
    return SIDRA_OK;
}

// The buffer of a resolved place.
inline const sidra_buffer& buffer_of(const sidra_ref& ref) {
    return *HandleTable<sidra_buffer>::find(parts_of(ref.buffer));
}

// Makes a buffer known by its addresses, for graphs and sidra_buffer_find(), and unknown. again: as for Objects.
void name_buffer(const sidra_buffer& buffer, bool again = false);
void unname_buffer(const sidra_buffer& buffer);

// Makes a buffer of memory that the library has allocated or registered.
sidra_buffer* adopt_memory(sidra_context* context, std::unique_ptr<DeviceMemory> memory, bool readonly, bool local);
// Makes a buffer of the first `size` bytes of a block, which stays the caller's if that throws.
sidra_buffer* adopt_block(sidra_context* context, PoolBlock* block, uint64_t size);

// Rows of bytes in device memory.
struct Rows {
    uint64_t address;
    uint64_t row_bytes;
    uint64_t stride;
    uint64_t rows;
};
// Whether two sets of rows certainly share a byte. (Interleaved rows of one matrix do not; with different strides the
// extents decide.)
bool overlap(const Rows& a, const Rows& b);

}  // namespace sidra

#endif
