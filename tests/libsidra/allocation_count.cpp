// SPDX-License-Identifier: MIT
// Replaces the global allocation functions of the test program by counting ones. In its own file, so that no compiler
// optimizes pairs of them away.
#include "allocation_count.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// Allocations of this thread.
thread_local uint64_t allocations = 0;

void* counted(size_t size, size_t alignment) {
    ++allocations;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size != 0 ? size : 1) != 0)
        return nullptr;
    return memory;
}
void* counted(size_t size) { return counted(size, alignof(std::max_align_t)); }
void* counted(size_t size, std::align_val_t alignment) { return counted(size, static_cast<size_t>(alignment)); }

void* or_throw(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

namespace sidra::test {

uint64_t thread_allocations() { return allocations; }

}  // namespace sidra::test

// Matching pairs: all of them go through malloc and free.
void* operator new(size_t size) { return or_throw(counted(size)); }
void* operator new[](size_t size) { return or_throw(counted(size)); }
void* operator new(size_t size, std::align_val_t alignment) { return or_throw(counted(size, alignment)); }
void* operator new[](size_t size, std::align_val_t alignment) { return or_throw(counted(size, alignment)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return counted(size, alignment);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return counted(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
