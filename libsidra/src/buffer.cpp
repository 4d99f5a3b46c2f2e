// SPDX-License-Identifier: MIT
#include "buffer.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "file_kind.h"
#include "file_reader.h"
#include "pool.h"

namespace sidra {

sidra_status bad_ref(const char* call, const char* name, const sidra_buffer& buffer, uint64_t offset, uint64_t bytes,
                     uint32_t alignment, Access access) {
    if (offset > buffer.size || bytes > buffer.size - offset)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` needs {} bytes from offset {}, but buffer {} has {}",
                    name, bytes == UINT64_MAX ? "more than 2^64" : std::to_string(bytes), offset, buffer.id,
                    buffer.size);
    if (access == Access::kWrite && buffer.readonly)
        return fail(SIDRA_ERROR_PERMISSION, call, "`{}` is written, but buffer {} is read-only", name, buffer.id);
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` must be {}-byte aligned, but offset {} of buffer {} is not",
                name, alignment, offset, buffer.id);
}

bool overlap(const Rows& a, const Rows& b) {
    const uint64_t a_end = a.address + extent_of(a.rows, a.row_bytes, a.stride);
    const uint64_t b_end = b.address + extent_of(b.rows, b.row_bytes, b.stride);
    if (a_end <= b.address || b_end <= a.address) return false;
    if (a.rows == 1 || b.rows == 1 || a.stride != b.stride) return true;
    // With equal strides, both row patterns have the same period, so one period decides.
    const uint64_t shift = b.address >= a.address ? (b.address - a.address) % a.stride
                                                  : (a.stride - (a.address - b.address) % a.stride) % a.stride;
    return shift < a.row_bytes || a.stride - shift < b.row_bytes;
}

void name_buffer(const sidra_buffer& buffer, bool again) {
    buffer.context->named.add_memory({Kind::kBuffer, buffer.id}, buffer.address, buffer.size, again);
    try {
        buffer.context->host_ranges.add(buffer.handle, reinterpret_cast<uintptr_t>(buffer.host), buffer.size);
    } catch (...) {
        unname_buffer(buffer);
        throw;
    }
}

sidra_buffer* adopt_block(sidra_context* context, PoolBlock* block, uint64_t size) {
    Making<sidra_buffer> made(context);
    made->address = block->chunk->memory->address() + block->offset;
    made->size = size;
    made->host = block->chunk->memory->host() + block->offset;
    made->block = block;
    name_buffer(*made);
    return handle_of(made.finish());
}

sidra_buffer* adopt_memory(sidra_context* context, std::unique_ptr<DeviceMemory> memory, bool readonly, bool local) {
    Making<sidra_buffer> made(context);
    made->address = memory->address();
    made->size = memory->size();
    made->readonly = readonly;
    made->local = local;
    made->host = memory->host();
    made->memory = std::move(memory);
    name_buffer(*made);
    return handle_of(made.finish());
}

void unname_buffer(const sidra_buffer& buffer) {
    buffer.context->named.remove_memory(buffer.address);
    buffer.context->host_ranges.remove(buffer.handle, reinterpret_cast<uintptr_t>(buffer.host), buffer.size);
}

}  // namespace sidra

using namespace sidra;

namespace {

// A driver's errno values about its device mean something else for a caller's file: the file or its file system.
[[gnu::cold]] sidra_status bad_file(const char* call, int fd, int error) {
    struct stat status {};
    if (error == -EISDIR)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "file descriptor {} is a directory; open a file in it", fd);
    if (error == -ESPIPE && fstat(fd, &status) == 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "file descriptor {} is {}, which may never end; use read(2) with the address of sidra_buffer_map()",
                    fd, file_kind(status.st_mode));
    const sidra_status known = status_of_errno(error);
    if (known == SIDRA_ERROR_OUT_OF_MEMORY || known == SIDRA_ERROR_LIMIT || known == SIDRA_ERROR_PERMISSION)
        return fail_errno(call, error, fmt::format("reading file descriptor {}", fd), {});
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "file descriptor {} cannot be read: {} (errno {}); it must be a file that is open for reading, on "
                "storage that works",
                fd, std::generic_category().message(-error), -error);
}

}  // namespace

sidra_status sidra_buffer_create(sidra_context* context, size_t size, uint32_t flags, sidra_buffer** buffer) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (buffer == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`buffer` is NULL; it takes the new handle");
        if (size == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`size` is 0; a buffer has at least one byte");
        if ((flags & ~uint32_t{SIDRA_BUFFER_DEVICE}) != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`flags` has unknown bits ({:#x}); see sidra_buffer_flags",
                        flags);
        const bool local = (flags & SIDRA_BUFFER_DEVICE) != 0;
        if (size >= (uint64_t{1} << SIDRA_VA_BITS))
            return fail(local ? SIDRA_ERROR_OUT_OF_DEVICE_MEMORY : SIDRA_ERROR_OUT_OF_MEMORY, call,
                        "{} bytes do not fit in the {}-bit address space of a context", size, SIDRA_VA_BITS);
        std::unique_ptr<DeviceMemory> memory;
        SIDRA_TRY(DeviceMemory::create(call, context, size, local, &memory));
        *buffer = adopt_memory(context, std::move(memory), false, local);
        return SIDRA_OK;
    });
}

sidra_status sidra_buffer_register(sidra_context* context, void* memory, size_t size, bool readonly,
                                   sidra_buffer** buffer) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (buffer == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`buffer` is NULL; it takes the new handle");
        if (memory == nullptr || size == 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}; registering needs at least one byte of memory",
                        memory == nullptr ? "`memory` is NULL" : "`size` is 0");
        if (reinterpret_cast<uintptr_t>(memory) + size < size)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} bytes at {} wrap around the address space", size,
                        memory);
        if (size >= (uint64_t{1} << SIDRA_VA_BITS))
            return fail(SIDRA_ERROR_OUT_OF_MEMORY, call, "{} bytes do not fit in the {}-bit address space of a context",
                        size, SIDRA_VA_BITS);
        std::unique_ptr<DeviceMemory> enrolled;
        SIDRA_TRY(DeviceMemory::enroll(call, context, memory, size, readonly, &enrolled));
        *buffer = adopt_memory(context, std::move(enrolled), readonly, false);
        return SIDRA_OK;
    });
}

sidra_status sidra_buffer_destroy(sidra_buffer* buffer) {
    if (buffer == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_buffer> claim;
        SIDRA_TRY(claim.take(call, "buffer", buffer));
        if (!forked(*buffer)) {
            if (buffer->block != nullptr)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                            "buffer {} is from sidra_malloc_async(); sidra_free_async() frees it", buffer->id);
            unname_buffer(*buffer);  // first: after the release, another buffer may get its address
            if (const sidra_status status = buffer->memory->release(call); status != SIDRA_OK) {
                name_buffer(*buffer, true);
                return status;
            }
        }
        destroy_object(buffer, claim);
        return SIDRA_OK;
    });
}

sidra_status sidra_buffer_map(sidra_buffer* buffer, void** address) {
    SIDRA_TRY(check(__func__, "buffer", buffer));
    if (address == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`address` is NULL");
    *address = buffer->host;
    return SIDRA_OK;
}

sidra_status sidra_buffer_size(const sidra_buffer* buffer, size_t* size) {
    SIDRA_TRY(check(__func__, "buffer", buffer));
    if (size == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`size` is NULL");
    *size = buffer->size;
    return SIDRA_OK;
}

sidra_status sidra_buffer_find(sidra_context* context, const void* host, sidra_ref* ref) {
    SIDRA_TRY(check(__func__, "context", context));
    if (ref == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`ref` is NULL; it takes the result");
    const auto address = reinterpret_cast<uintptr_t>(host);
    const auto found = context->host_ranges.find(address);
    if (!found)
        return fail(SIDRA_ERROR_NOT_FOUND, __func__,
                    "no buffer of context {} has the address {}; sidra_buffer_register() makes a buffer of memory",
                    context->id, host);
    *ref = {reinterpret_cast<sidra_buffer*>(static_cast<uintptr_t>(found->handle)), address - found->begin};
    return SIDRA_OK;
}

sidra_status sidra_buffer_read_file(sidra_buffer* buffer, size_t offset, int fd, uint64_t file_offset, size_t size,
                                    size_t* got) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "buffer", buffer));
        if (size == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`size` is 0; read at least one byte");
        if (offset > buffer->size || size > buffer->size - offset)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "{} bytes from offset {} do not fit in buffer {} of {} bytes", size, offset, buffer->id,
                        buffer->size);
        if (file_offset > INT64_MAX || size > INT64_MAX - file_offset)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`file_offset` {} is beyond what a file can have",
                        file_offset);
        const FileRange range{file_offset, buffer->host + offset, size};
        const int64_t bytes = read_file(fd, {&range, 1});
        if (bytes < 0) return bad_file(call, fd, static_cast<int>(bytes));
        if (got != nullptr) *got = static_cast<size_t>(bytes);
        else if (static_cast<uint64_t>(bytes) < size)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "the file has only {} of {} bytes from offset {} on", bytes,
                        size, file_offset);
        return SIDRA_OK;
    });
}
